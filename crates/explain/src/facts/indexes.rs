//! Indexes of a trace that are built once.

use crate::Options;
use crate::facts::churn::{Churn, Object};
use crate::facts::index::{self, Later};
use crate::facts::peaks::Peaks;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::OnceLock;
use trace::{
    ArgumentId, CallId, DeviceId, Ns, OpId, ProcessId, RangeId, Selected, StreamId, Sym, SyncId, Trace,
    WaitId,
};
use waits::{ByCall, CallOrder};

/// The indexes of calls.
pub(super) struct Calls {
    /// Calls that take longer than this are slow, ns.
    pub min_wait: Ns,
    pub selected: Selected,
    pub usual: FxHashMap<Sym, Ns>,
    /// From the first call or wait of each thread to the last.
    pub thread_span: Vec<(Ns, Ns)>,
}

impl Calls {
    pub fn new(trace: &Trace, options: &Options) -> Calls {
        Calls {
            min_wait: options.min_wait_ns,
            selected: options.selection.of(trace),
            usual: index::usual_costs(trace, options.min_wait_ns),
            thread_span: index::thread_spans(trace),
        }
    }
}

/// The indexes of first uses.
pub(super) struct FirstUses {
    /// First call of each process and name.
    pub first_call: FxHashMap<(ProcessId, Sym), CallId>,
    /// The later calls of each name.
    pub later: OnceLock<FxHashMap<(ProcessId, Sym), Later>>,
    /// The time at which the first call that needs a context returned, ns, by process and device.
    pub ready: OnceLock<FxHashMap<(ProcessId, DeviceId), Ns>>,
    /// First launch into each stream.
    pub first_launch: OnceLock<FxHashMap<StreamId, CallId>>,
    /// First operation of each process and kernel name.
    pub first_kernel: FxHashMap<(ProcessId, Sym), OpId>,
}

impl FirstUses {
    pub fn new(trace: &Trace, order: &[CallId]) -> FirstUses {
        FirstUses {
            first_call: index::first_calls(trace, order),
            later: OnceLock::new(),
            ready: OnceLock::new(),
            first_launch: OnceLock::new(),
            first_kernel: index::first_kernels(trace),
        }
    }
}

/// The indexes of waits.
pub(super) struct Locks {
    pub lock_calls: Vec<Vec<(Ns, Ns)>>,
    /// Recorded waits by process and lock, by start.
    pub of_locks: OnceLock<FxHashMap<(ProcessId, i64), Vec<WaitId>>>,
    /// The start of each wait that found several threads holding its lock, ns, by process and lock.
    pub shared: OnceLock<FxHashMap<(ProcessId, i64), Vec<Ns>>>,
}

impl Locks {
    pub fn new(trace: &Trace, order: &CallOrder<'_>) -> Locks {
        Locks {
            lock_calls: index::lock_calls(trace, order.by_start()),
            of_locks: OnceLock::new(),
            shared: OnceLock::new(),
        }
    }
}

/// The indexes of operations and arguments.
pub(super) struct Operations {
    /// For each operation of each stream, by start, the number of the call that issued it.
    pub stream_calls: OnceLock<Vec<Vec<u32>>>,
    /// The device that runs most of a thread's operations.
    pub thread_device: Vec<DeviceId>,
    pub gpu_waits: OnceLock<Vec<CallId>>,
    /// The processes with operations; [`ProcessId::NONE`] if that of an operation is unknown.
    pub processes: OnceLock<FxHashSet<ProcessId>>,
    pub unknown_copies: OnceLock<bool>,
    pub syncs: OnceLock<ByCall<SyncId>>,
    pub arguments: ByCall<ArgumentId>,
}

impl Operations {
    pub fn new(trace: &Trace, order: &CallOrder<'_>) -> Operations {
        Operations {
            stream_calls: OnceLock::new(),
            thread_device: index::thread_devices(trace),
            gpu_waits: OnceLock::new(),
            processes: OnceLock::new(),
            unknown_copies: OnceLock::new(),
            syncs: OnceLock::new(),
            arguments: index::arguments_by_call(trace, order),
        }
    }
}

/// The indexes of the tracer's work.
pub(super) struct Tracer {
    /// The tracer's own work, by start.
    pub overheads: Vec<RangeId>,
    /// When each of these ends.
    pub overhead_ends: Peaks,
}

impl Tracer {
    pub fn new(trace: &Trace) -> Tracer {
        let overheads = index::overheads(trace);
        let overhead_ends = Peaks::of(overheads.iter().map(|range| trace.ranges.end[range.index()]));
        Tracer { overheads, overhead_ends }
    }
}

/// The habits of the processes of a trace.
#[derive(Default)]
pub(super) struct Habits {
    pub runs_python: OnceLock<bool>,
    /// Whether the stacks of short calls are a sample.
    pub samples_stacks: OnceLock<bool>,
    /// The names of functions that make a stream wait for an event.
    pub orders: OnceLock<FxHashSet<Sym>>,
    pub turns: OnceLock<bool>,
    /// The samples of each thread by time, ns, and whether each lies in the driver's own compiler.
    pub compiles: OnceLock<Vec<Vec<(Ns, bool)>>>,
    /// The function that copies in pieces.
    pub pieces: OnceLock<Option<Sym>>,
    pub blocking: OnceLock<FxHashSet<ProcessId>>,
    pub churns: OnceLock<FxHashMap<(ProcessId, Object), Churn>>,
    /// When each thread captured graphs.
    pub captures: OnceLock<Vec<Vec<(CallId, Ns)>>>,
}
