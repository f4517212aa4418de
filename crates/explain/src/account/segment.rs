//! A stretch of a thread's time, and the activity of the thread in it.

use trace::{CallId, LockKind, Ns, WaitId};

/// Activity of a thread in a stretch of its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    /// It lost time in a call to a cause: a row of [`super::parts::CallParts`].
    Lost(u32),
    /// It was in this call, and no cause claims the time.
    Working(CallId),
    /// It waited for a lock, or for another thread.
    Waiting(WaitId),
    /// It was in no call and no recorded wait; this call was its next one, `NONE` after the last.
    Outside(CallId),
}

/// A stretch of a thread's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub start: Ns,
    pub end: Ns,
    pub doing: Doing,
}

impl Segment {
    pub fn length(&self) -> Ns {
        self.end - self.start
    }
}

/// Whether a wait is for what another thread does, as for what it puts into a queue, and not for a lock that it holds.
pub(crate) fn is_for_work(kind: LockKind) -> bool {
    matches!(kind, LockKind::Condition | LockKind::Semaphore | LockKind::Barrier | LockKind::Join)
}
