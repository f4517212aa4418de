//! A wait of a thread outside of calls, for another thread.

use trace::{LockKind, Ns, ThreadId, Trace, WaitId};

/// A wait for another thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub kind: Kind,
    /// The recorded wait, if it is one.
    pub wait: WaitId,
    pub waiter: ThreadId,
    /// The thread that ends it.
    pub by: ThreadId,
    /// When the wait begins and ends, ns.
    pub start: Ns,
    pub end: Ns,
    /// The moment of the thread that ends it, ns.
    pub at: Ns,
}

/// Kind of a thread's wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Wait that the trace records.
    Wait,
    /// Wait until it is started.
    Birth,
    /// Wait until it is told to end.
    Told,
}

impl Signal {
    /// Whether its waiter waits for another thread, not for a lock.
    pub fn is_for_a_thread(&self, trace: &Trace) -> bool {
        use LockKind::{Barrier, Condition, Join, Semaphore};
        let kind = self.wait.some().map(|wait| trace.waits.kind[wait.index()]);
        matches!(kind, Some(Join | Condition | Semaphore | Barrier))
    }
}
