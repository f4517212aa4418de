//! Plans of a workload's steps and calls.

use super::functions::Function;
use crate::plan::Way;

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Call(u32),
    /// Executes the steps up to `end` so many times.
    Loop {
        times: u64,
        end: u32,
    },
    /// The end of a loop that began at `start`.
    Again {
        start: u32,
    },
    /// Time without a call, ns.
    Pause(i64),
    /// Maps or unmaps host memory, touched or not.
    Map {
        buffer: u32,
        touched: bool,
    },
    Unmap {
        buffer: u32,
    },
    /// The thread writes host memory.
    Write {
        buffer: u32,
        bytes: u64,
    },
    /// Acquires the lock of the thread's process, for the pause that follows, ns.
    Hold(i64),
    Meet {
        barrier: u32,
    },
    EndBefore,
    EndBody,
    End,
}

/// A kernel with its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelPlan {
    pub name: &'static str,
    /// Its bit among the kernels that a context has loaded.
    pub bit: u32,
    /// The time of each of its threads, ns.
    pub ns: i64,
    /// Whether it ends by the clock, which continues while it is suspended.
    pub clocked: bool,
    /// Threads that it can run at the same time.
    pub slots: u32,
    pub grid: u32,
    pub block: u32,
}

/// The effect of a call, and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect {
    pub name: Function,
    pub act: Act,
}

/// Action of a call when it holds its locks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Nothing,
    Launch { stream: u32, kernel: u32 },
    Graph { graph: u32, stream: u32 },
    Copy(Copy),
    Fill { stream: u32, bytes: u64, ns: i64, waits: bool },
    Reserve { buffer: u32, pooled: bool },
    Release { buffer: u32, waits: bool },
    Pin { buffer: u32 },
    Unpin { buffer: u32 },
    Unload,
    Record { event: u32, stream: u32 },
    Wait { event: u32, stream: u32 },
    SynchronizeEvent { event: u32 },
    Elapsed { from: u32, to: u32 },
    SynchronizeStream { stream: u32 },
    SynchronizeContext,
    CreateStream { stream: u32 },
    CreateEvent { event: u32 },
    Captured { graph: u32, body: u32 },
}

/// A copy to, from, within or between devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub stream: u32,
    pub way: Way,
    pub bytes: u64,
    /// The buffer of the host, if any.
    pub host: u32,
    /// Whether the host's memory is page-locked.
    pub pinned: bool,
    /// Whether the call waits for the copy.
    pub waits: bool,
    /// The plan of the same copy if the buffer has been page-locked since.
    pub registered: u32,
}
