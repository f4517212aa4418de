//! Waits for exclusive access to a lock that others hold shared, one call after another: no call holds it long, and yet
//! one always holds it. The C library grants shared access while a thread waits for exclusive access (its default,
//! `PTHREAD_RWLOCK_PREFER_READER_NP`). With 16 launching threads, each waited for the context's lock in the first launch
//! into its stream, up to 0.998 s, until others were done; and in `cudaFree` again (H200).

use crate::facts::Facts;
use trace::{CallId, LockMode, Wait};

/// Whether others held the lock shared meanwhile: this wait, or another that began within it, found several holders.
pub(super) fn had_it(facts: &Facts<'_>, wait: &Wait) -> bool {
    wait.mode == LockMode::Exclusive && facts.was_shared(wait)
}

/// Whether calls like the last one that held the lock shared began and ended in each quarter of the wait: then no thread
/// held it exclusively for half of the wait.
pub(super) fn kept_on(facts: &Facts<'_>, wait: &Wait, last: CallId) -> bool {
    let quarter = (wait.end - wait.start) / 4;
    (0..4).map(|at| wait.start + at * quarter).all(|from| facts.has_like(last, from, from + quarter))
}
