//! Whether calls and operations run at the same time as others.

use trace::Ns;

/// Calls `visit` with each of these and whether others ran at the same time.
pub(crate) fn divide<T: Copy>(
    mut all: Vec<T>,
    time: impl Fn(&T) -> (Ns, Ns),
    mut visit: impl FnMut(T, bool),
) {
    all.sort_by_key(&time);
    let mut until = Ns::MIN;
    for (at, one) in all.iter().enumerate() {
        let (start, end) = time(one);
        let next = all.get(at + 1).map_or(Ns::MAX, |next| time(next).0);
        visit(*one, start < until || next < end);
        until = until.max(end);
    }
}
