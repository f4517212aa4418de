//! A thread wants a lock alone that others share, one call after another: none of them keeps it long, and yet
//! there is always one that has it. The C library lets others share a lock past one who wants it alone (its
//! default, `PTHREAD_RWLOCK_PREFER_READER_NP`). Of 16 threads that launch, each waited for the context's lock
//! in the first launch into its stream, up to 0.998 s, until others were done; and in `cudaFree` again (H200).

use crate::facts::Facts;
use trace::{CallId, LockMode, Wait};

/// Whether others shared the lock meanwhile: this wait, or another one that began within it, found several
/// that had it.
pub(super) fn had_it(facts: &Facts<'_>, wait: &Wait) -> bool {
    wait.mode == LockMode::Exclusive && facts.was_shared(wait)
}

/// Whether calls like the last that shared the lock began and ended in each quarter of the wait: nobody had
/// the lock alone for half of it.
pub(super) fn kept_on(facts: &Facts<'_>, wait: &Wait, last: CallId) -> bool {
    let quarter = (wait.end - wait.start) / 4;
    (0..4).map(|at| wait.start + at * quarter).all(|from| facts.has_like(last, from, from + quarter))
}
