//! When each GPU worked, and the gaps between: each with the operation that ended it.

use rustc_hash::FxHashMap;
use trace::{DeviceId, Ns, OpId, ProcessId, Trace};

/// A GPU's time: its work, and the gaps in it. Together they are its span, without overlap.
pub(super) struct Timeline {
    pub device: DeviceId,
    /// From the first call of any process that uses it to the end of its last operation, ns.
    pub span: (Ns, Ns),
    /// Time with any operation of any stream, context and process, ns.
    pub busy: Ns,
    /// The times without, in order.
    pub gaps: Vec<Gap>,
}

/// A time in which a GPU had no operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gap {
    pub start: Ns,
    pub end: Ns,
    /// The operation that ended it.
    pub next: OpId,
    /// The operation that ended last before it; `NONE` before the first.
    pub last: OpId,
}

impl Gap {
    pub fn length(&self) -> Ns {
        self.end - self.start
    }
}

/// The time of each device that has operations, within a window.
pub(super) fn timelines(trace: &Trace, window: (Ns, Ns)) -> Vec<Timeline> {
    let mut ops = vec![Vec::new(); trace.devices.len()];
    for op in trace.ops.ids() {
        if let Some(device) = trace.device_of_stream(trace.ops.stream[op.index()]).some() {
            ops[device.index()].push(op);
        }
    }
    let first_calls = first_calls(trace);
    let used = trace.devices.ids().zip(ops).filter(|(_, ops)| !ops.is_empty());
    used.map(|(device, ops)| timeline(trace, device, ops, &first_calls, window)).collect()
}

/// The first call of each process, ns.
fn first_calls(trace: &Trace) -> FxHashMap<ProcessId, Ns> {
    let mut first = FxHashMap::default();
    for (thread, start) in trace.calls.thread.iter().zip(&trace.calls.start) {
        let known = first.entry(trace.process_of_thread(*thread)).or_insert(*start);
        *known = (*known).min(*start);
    }
    first
}

fn timeline(
    trace: &Trace,
    device: DeviceId,
    mut ops: Vec<OpId>,
    first_calls: &FxHashMap<ProcessId, Ns>,
    (from, to): (Ns, Ns),
) -> Timeline {
    let (starts, ends) = (&trace.ops.start, &trace.ops.end);
    let asked =
        |op: &OpId| trace.ops.call[op.index()].some().map_or(Ns::MIN, |call| trace.calls.start[call.index()]);
    let order = |op: &OpId| (starts[op.index()], asked(op));
    if !ops.is_sorted_by_key(order) {
        ops.sort_by_key(order);
    }
    let processes = ops.iter().map(|op| trace.process_of_stream(trace.ops.stream[op.index()]));
    let mut before = Ns::MAX;
    let mut known = ProcessId::NONE;
    for process in processes {
        if process != known {
            known = process;
            before = before.min(first_calls.get(&process).copied().unwrap_or(Ns::MAX));
        }
    }
    let first = ops.first().map_or(Ns::MAX, |op| starts[op.index()]).min(before);
    let end = ops.iter().map(|op| ends[op.index()]).max().unwrap_or(first);
    let span = (first.max(from), end.min(to));
    let (mut busy, mut gaps) = (0, Vec::new());
    let (mut done, mut last) = (first, OpId::NONE);
    for op in ops {
        let (start, end) = (starts[op.index()], ends[op.index()]);
        let gap = Gap { start: done.max(span.0), end: start.min(span.1), next: op, last };
        if gap.start < gap.end {
            gaps.push(gap);
        }
        if end > done {
            busy += (end.min(span.1) - start.max(done).max(span.0)).max(0);
            (done, last) = (end, op);
        }
    }
    Timeline { device, span: (span.0, span.1.max(span.0)), busy, gaps }
}
