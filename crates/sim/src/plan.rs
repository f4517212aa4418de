//! Places of a program and plans of its calls, whatever the program is.

use crate::Use;
use trace::{CopyKind, MemoryKind};
use workload::StreamKind;

/// No row.
pub(crate) const NONE: u32 = u32::MAX;

/// The longest time of anything, 18 years, so that sums of a few never overflow, ns.
pub(crate) const LONGEST: i64 = i64::MAX / 16;

/// A whole number of nanoseconds, at most the longest time.
pub(crate) fn whole(ns: f64) -> i64 {
    (ns as i64).min(LONGEST)
}

/// The contexts and streams of all processes in one list each.
pub(crate) struct Layout {
    pub contexts: Vec<ContextPlan>,
    /// Streams of the workload, then each context's legacy default stream.
    pub streams: Vec<StreamPlan>,
    /// Hardware queues of a context.
    pub connections: u32,
    /// Contexts that take turns, by device.
    pub groups: Vec<u32>,
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

/// A call with its costs, ns, and its effect once it holds its locks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan<E> {
    pub before: i64,
    pub held: i64,
    pub after: i64,
    /// From the end of what it waits for until it goes on.
    pub notice: i64,
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
    pub effect: E,
}

/// Kind of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OpPlan {
    Kernel { plan: u32, node: u32 },
    Copy { way: Way, pinned: bool, bytes: u64 },
    Fill { bytes: u64 },
}

impl OpPlan {
    /// Whether it is a kernel that the host launched, not one of a graph: it has a hardware queue.
    pub(crate) fn is_launched(&self) -> bool {
        matches!(self, OpPlan::Kernel { node: 0, .. })
    }
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
