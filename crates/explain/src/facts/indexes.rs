//! Indexes of a trace that are built once.

use crate::Options;
use crate::class::Classes;
use crate::index::{self, ByCall, CallOrder, Later};
use crate::peaks::Peaks;
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};
use trace::{
    ArgumentId, CallId, DeviceId, Ns, OpId, ProcessId, RangeId, Selected, StreamId, Sym, SyncId, Trace,
    WaitId,
};

/// The indexes of calls.
pub(super) struct Calls {
    pub classes: Classes,
    /// Calls that take longer than this are slow, ns.
    pub min_wait: Ns,
    pub selected: Selected,
    pub usual: FxHashMap<Sym, Ns>,
    /// From the first call or wait of each thread to the last.
    pub thread_span: Vec<(Ns, Ns)>,
    pub order: Arc<CallOrder>,
    /// The outermost CUDA calls of each thread, by start.
    pub by_thread: OnceLock<Vec<Vec<CallId>>>,
}

impl Calls {
    pub fn new(trace: &Trace, options: &Options, order: Arc<CallOrder>) -> Calls {
        Calls {
            classes: Classes::new(trace),
            min_wait: options.min_wait_ns,
            selected: options.selection.of(trace),
            usual: index::usual_costs(trace, options.min_wait_ns),
            thread_span: index::thread_spans(trace),
            order,
            by_thread: OnceLock::new(),
        }
    }
}

/// The indexes of first uses.
pub(super) struct First {
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

impl First {
    pub fn new(trace: &Trace, order: &[CallId]) -> First {
        First {
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
    pub waits: ByCall<WaitId>,
    /// Recorded waits by process and lock, by start.
    pub of_locks: OnceLock<FxHashMap<(ProcessId, i64), Vec<WaitId>>>,
    /// The start of each wait that found several threads holding its lock, ns, by process and lock.
    pub shared: OnceLock<FxHashMap<(ProcessId, i64), Vec<Ns>>>,
    pub outside_waits: Vec<WaitId>,
}

impl Locks {
    pub fn new(trace: &Trace, calls: &Calls) -> Locks {
        let (waits, outside_waits) = index::waits_by_call(trace, &calls.order);
        Locks {
            lock_calls: index::lock_calls(trace, &calls.order.by_start),
            waits,
            of_locks: OnceLock::new(),
            shared: OnceLock::new(),
            outside_waits,
        }
    }
}

/// The indexes of operations and arguments.
pub(super) struct Operations {
    /// Operations by the call that issued them: those of `c` are `call_ops[first_op[c]..first_op[c + 1]]`.
    pub first_op: Vec<u32>,
    pub call_ops: Vec<OpId>,
    /// Operations of each stream, by start.
    pub stream_ops: Vec<Vec<OpId>>,
    /// For each of them the number of the call that issued it.
    pub stream_calls: OnceLock<Vec<Vec<u32>>>,
    /// The device that runs most of a thread's operations.
    pub thread_device: Vec<DeviceId>,
    pub gpu_waits: OnceLock<Vec<CallId>>,
    pub unknown_copies: OnceLock<bool>,
    pub syncs: OnceLock<ByCall<SyncId>>,
    pub arguments: ByCall<ArgumentId>,
}

impl Operations {
    pub fn new(trace: &Trace, outer: &[CallId]) -> Operations {
        let (first_op, call_ops) = index::ops_by_call(trace, outer);
        Operations {
            first_op,
            call_ops,
            stream_ops: index::ops_by_stream(trace),
            stream_calls: OnceLock::new(),
            thread_device: index::thread_devices(trace),
            gpu_waits: OnceLock::new(),
            unknown_copies: OnceLock::new(),
            syncs: OnceLock::new(),
            arguments: index::arguments_by_call(trace, outer),
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
