//! A wait of a thread outside of calls, for another thread.

use trace::{LockKind, Ns, ThreadId, Trace, WaitId};

/// A wait for another thread.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// Its kind.
    pub kind: SignalKind,
    /// The recorded wait, if it is one.
    pub wait: WaitId,
    /// The thread that waits.
    pub waiter: ThreadId,
    /// The thread that ends it.
    pub by: ThreadId,
    /// Start of the wait, ns.
    pub start: Ns,
    /// Its end, ns.
    pub end: Ns,
    /// The moment of the thread that ends it, ns.
    pub at: Ns,
}

/// SignalKind of a thread's wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalKind {
    /// Wait that the trace records.
    Wait,
    /// Wait until it is started.
    Birth,
    /// Wait until it is told to end.
    Told,
    /// Wait until the other one has done its part.
    Turn,
    /// Wait for the other one's end, which came first in the trace.
    Exit,
}

impl Signal {
    /// Whether its waiter waits for another thread, not for a lock.
    pub fn is_for_a_thread(&self, trace: &Trace) -> bool {
        use LockKind::{Barrier, Condition, Join, Semaphore};
        let kind = self.wait.some().map(|wait| trace.waits.kind[wait.index()]);
        matches!(kind, Some(Join | Condition | Semaphore | Barrier))
    }
}
