//! The stretches in which a thread may lose time.

use trace::{CallId, Ns, Sym, ThreadId, Trace, WaitId};

/// A stretch of a thread's time: a call, or a wait for a lock in no call of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Stretch {
    Call(CallId),
    Wait(WaitId),
}

impl Stretch {
    pub fn call(self) -> Option<CallId> {
        match self {
            Stretch::Call(call) => Some(call),
            Stretch::Wait(_) => None,
        }
    }

    pub fn start(self, trace: &Trace) -> Ns {
        match self {
            Stretch::Call(call) => trace.calls.start[call.index()],
            Stretch::Wait(wait) => trace.waits.start[wait.index()],
        }
    }

    pub fn end(self, trace: &Trace) -> Ns {
        match self {
            Stretch::Call(call) => trace.calls.end[call.index()],
            Stretch::Wait(wait) => trace.waits.end[wait.index()],
        }
    }

    pub fn duration(self, trace: &Trace) -> Ns {
        self.end(trace) - self.start(trace)
    }

    pub fn thread(self, trace: &Trace) -> ThreadId {
        match self {
            Stretch::Call(call) => trace.calls.thread[call.index()],
            Stretch::Wait(wait) => trace.waits.thread[wait.index()],
        }
    }

    /// The call's name, or that of the library that waited.
    pub fn name(self, trace: &Trace) -> Sym {
        match self {
            Stretch::Call(call) => trace.calls.name[call.index()],
            Stretch::Wait(wait) => trace.waits.library[wait.index()],
        }
    }
}
