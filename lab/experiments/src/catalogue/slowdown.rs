//! Slowdown of workers by each other.

use crate::results::{Row, differ};

/// The least slowdown that counts as a delay by other workers: a few percent may come from the processors' caches and clocks
/// as well (H200: 29.1 and 29.8 µs).
pub(super) const HELD_UP: f64 = 1.1;

/// Whether a row's time is longer than another's, by [`HELD_UP`] and as the rounds show.
pub(super) fn takes_longer(row: &Row, than: &Row) -> bool {
    let Some((time, others)) = row.figure("ms").zip(than.figure("ms")) else { return false };
    time.value >= HELD_UP * others.value && differ(time, others)
}
