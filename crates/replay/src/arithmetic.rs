//! Arithmetic of times.

use trace::Ns;

/// `time × after / before`.
pub(crate) fn part(time: Ns, after: Ns, before: Ns) -> Ns {
    match time.checked_mul(after) {
        _ if before == 0 => 0,
        Some(product) => product / before,
        None => (i128::from(time) * i128::from(after) / i128::from(before)) as Ns,
    }
}

pub(crate) fn median(values: impl Iterator<Item = Ns>) -> Option<Ns> {
    let mut values: Vec<Ns> = values.collect();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}
