//! Steps of a thread of the trace, before they have names in a workload.

use trace::{Ns, StreamId, Sym};

/// A step of a thread, with the time before it.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Time of the thread outside of calls before it.
    pub pause: Pause,
    /// The step.
    pub act: Act,
    /// The kernel's duration, ns; 0 of other steps.
    pub kernel_ns: Ns,
    /// Duration of the call in the trace, ns.
    pub took: Ns,
}

/// Time of a thread outside of calls, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pause {
    /// Time in which it worked.
    pub work: Ns,
    /// Time in which it slept.
    pub sleep: Ns,
    /// Time in which it held the lock of its process.
    pub hold: Ns,
}

impl Pause {
    /// All of it.
    pub fn all(self) -> Ns {
        self.work + self.sleep + self.hold
    }
}

/// Something that a thread makes and unmakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Thing {
    /// Device memory.
    Device,
    /// Managed memory.
    Managed,
    /// Page-locked host memory.
    Pinned,
    /// The registration of pageable memory.
    Registration,
    /// Memory of a device's pool.
    Pool,
    /// A stream.
    Stream,
    /// An event.
    Event,
}

/// Memory of the host at one end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum HostMemory {
    Pinned,
    Pageable,
    /// Pageable memory that was never touched: a copy into it has its page faults.
    Fresh,
}

/// Direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Way {
    In(HostMemory),
    Out(HostMemory),
    Within,
}

/// A step without its times: steps of two rounds are the same if these are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Act {
    Launch { stream: StreamId, kernel: Sym, grid: u32, block: u32 },
    Graph { stream: StreamId, graph: u32 },
    Copy { stream: Option<StreamId>, in_stream: StreamId, way: Way, bytes: u64 },
    Fill { stream: StreamId, bytes: u64 },
    Synchronize(StreamId),
    SynchronizeContext,
    SynchronizeEvent(u32),
    Record(u32, StreamId),
    Wait(u32, StreamId),
    Query(StreamId),
    Begin(Thing, u32),
    End(Thing, u32),
    LoadModule,
    Instantiate(StreamId),
}

impl Act {
    /// The stream that it is for.
    pub fn stream(&self) -> Option<StreamId> {
        match self {
            Act::Launch { stream, .. } | Act::Graph { stream, .. } | Act::Fill { stream, .. } => {
                Some(*stream)
            }
            Act::Copy { in_stream, .. } => Some(*in_stream),
            Act::Synchronize(stream) | Act::Record(_, stream) | Act::Wait(_, stream) => Some(*stream),
            Act::Query(stream) | Act::Instantiate(stream) => Some(*stream),
            Act::SynchronizeContext
            | Act::SynchronizeEvent(_)
            | Act::Begin(..)
            | Act::End(..)
            | Act::LoadModule => None,
        }
    }
}

/// A node of a graph: a kernel, or anything else as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub grid: u32,
    pub block: u32,
    /// Duration, ns: that of the first launch of the graph.
    pub ns: Ns,
}
