//! Amounts by key, where keys are few.

/// Adds to the amount of a key; few keys.
pub(crate) fn add_to<K: PartialEq, N: std::ops::AddAssign>(amounts: &mut Vec<(K, N)>, key: K, amount: N) {
    match amounts.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) => *known += amount,
        None => amounts.push((key, amount)),
    }
}
