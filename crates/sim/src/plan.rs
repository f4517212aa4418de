//! A workload with the costs of a model: calls in the order in which threads make them.

use crate::Use;
use crate::functions::Function;
use crate::recorded::{Rows, Until};
use trace::{CopyKind, MemoryKind};
use workload::{Repeat, StreamKind};

/// No row.
pub(crate) const NONE: u32 = u32::MAX;

/// A workload, flattened: rows of all processes in one list each.
pub(crate) struct Program {
    pub plans: Vec<Plan>,
    pub kernels: Vec<KernelPlan>,
    pub contexts: Vec<ContextPlan>,
    /// Streams of the workload, then each context's legacy default stream.
    pub streams: Vec<StreamPlan>,
    pub buffers: Vec<BufferPlan>,
    pub events: usize,
    pub graphs: usize,
    /// The nodes of graphs, one list of plans per capture.
    pub captured: Vec<Vec<u32>>,
    pub threads: Vec<ThreadPlan>,
    /// The number of signals that threads wait for.
    pub signals: usize,
    /// Hardware queues of a context.
    pub connections: u32,
    /// Contexts that take turns, by device.
    pub groups: Vec<u32>,
}

/// A call with its costs, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub name: Function,
    pub before: i64,
    pub held: i64,
    pub after: i64,
    /// From the end of what it waits for until it goes on.
    pub notice: i64,
    /// Additional cost beside a copy to pageable memory, ns: [`super::CallOf::beside_ns`].
    pub beside: i64,
    pub lock: Use,
    /// How it acquires the lock while a pageable copy waits in its stream.
    pub staged_lock: Use,
    pub mutex: bool,
    /// How often it acquires the locks, for `held` each time.
    pub pieces: u32,
    /// Whether it holds its context's lock while it waits.
    pub keep: bool,
    /// The context of its locks.
    pub context: u32,
    /// Recorded calls that it waits behind, and whether others wait behind it.
    pub behind: Rows,
    pub holds: Option<(u32, Until)>,
    pub act: Act,
}

/// Action of a call when it holds its locks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Nothing,
    Launch {
        stream: u32,
        kernel: u32,
    },
    Graph {
        graph: u32,
        stream: u32,
    },
    Copy(Copy),
    Fill {
        stream: u32,
        bytes: u64,
        ns: i64,
        waits: bool,
    },
    Reserve {
        buffer: u32,
        pooled: bool,
    },
    Release {
        buffer: u32,
        waits: bool,
    },
    Pin {
        buffer: u32,
    },
    Unpin {
        buffer: u32,
    },
    Unload,
    Record {
        event: u32,
        stream: u32,
    },
    Wait {
        event: u32,
        stream: u32,
    },
    SynchronizeEvent {
        event: u32,
    },
    Elapsed {
        from: u32,
        to: u32,
    },
    SynchronizeStream {
        stream: u32,
    },
    SynchronizeContext,
    CreateStream {
        stream: u32,
    },
    CreateEvent {
        event: u32,
    },
    Captured {
        graph: u32,
        body: u32,
    },
    /// Issues recorded operations, and waits for them or not.
    Issue {
        works: Rows,
        waits: bool,
    },
    /// Waits for recorded operations.
    AwaitWorks(Rows),
}

/// An operation as it was recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkPlan {
    pub stream: u32,
    pub engine: u32,
    pub what: What,
    /// Threads of a kernel that it keeps busy at the same time.
    pub slots: u32,
    pub ns: i64,
    /// From the call's effect to the earliest start, ns; negative for the model's.
    pub latency: i64,
    /// From the end of what it waits for to its start, ns; negative for the model's.
    pub gap: i64,
    /// The row of the operation of another stream that it waits for, or [`NONE`].
    pub after: u32,
    /// Whether it waits in no hardware queue of several.
    pub alone: bool,
}

impl Act {
    /// The stream that an operation is issued to.
    pub(crate) fn stream(&self) -> Option<u32> {
        match *self {
            Act::Launch { stream, .. } | Act::Graph { stream, .. } | Act::Fill { stream, .. } => Some(stream),
            Act::Copy(copy) => Some(copy.stream),
            _ => None,
        }
    }
}

/// Kind of an operation, for the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Kernel { plan: u32, node: u32 },
    Copy { way: Way, pinned: bool, bytes: u64 },
    Fill { bytes: u64 },
}

/// A copy to, from, within or between devices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
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

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
    Within,
    Between,
}

impl Way {
    pub(crate) fn kind(self) -> CopyKind {
        match self {
            Way::In => CopyKind::HtoD,
            Way::Out => CopyKind::DtoH,
            Way::Within => CopyKind::DtoD,
            Way::Between => CopyKind::PtoP,
        }
    }

    /// The memory at both ends, given the host's.
    pub(crate) fn memory(self, pinned: bool) -> (MemoryKind, MemoryKind) {
        let host = if pinned { MemoryKind::Pinned } else { MemoryKind::Pageable };
        match self {
            Way::In => (host, MemoryKind::Device),
            Way::Out => (MemoryKind::Device, host),
            Way::Within | Way::Between => (MemoryKind::Device, MemoryKind::Device),
        }
    }
}

/// A kernel with its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelPlan {
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct ContextPlan {
    pub process: u32,
    pub device: u32,
    pub primary: bool,
    /// Its row among the contexts of its device that take turns.
    pub group: u32,
    /// Its legacy default stream.
    pub default_stream: u32,
    /// Of its process's launch mutex, or its own.
    pub mutex: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamPlan {
    pub context: u32,
    pub kind: StreamKind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferPlan {
    /// Memory that is never untouched: pinned.
    pub touched: bool,
    pub bytes: u64,
}

/// A thread's steps.
pub(crate) struct ThreadPlan {
    pub process: u32,
    pub delay_ns: i64,
    pub repeat: Repeat,
    /// `before`, [`Step::EndBefore`], the body, [`Step::EndBody`], `after`, [`Step::End`].
    pub steps: Vec<Step>,
    /// Where the body begins.
    pub body: u32,
}

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
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
    /// Threads that wait for the signal go on.
    Post {
        signal: u32,
    },
    /// Waits for a signal, unless it was posted; a thread that had to wait goes on `handoff` ns later.
    Await {
        signal: u32,
        handoff: i64,
    },
    /// Waits for a signal, unless it was posted, and gives up `after` ns.
    GiveUp {
        signal: u32,
        after: i64,
    },
    /// A pause that ends once a signal is posted.
    PauseUntil {
        signal: u32,
        ns: i64,
    },
    /// Goes on at the next wait for a signal, if it was posted.
    Leave {
        signal: u32,
    },
    /// Acquires a recorded lock, and releases it.
    Acquire {
        lock: u32,
        handoff: i64,
    },
    Release {
        lock: u32,
    },
    EndBefore,
    EndBody,
    End,
}
