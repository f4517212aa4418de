//! When each GPU worked, and the gaps between: each with the operation that ended it.

use rustc_hash::FxHashMap;
use trace::{DeviceId, Ns, OpId, ProcessId, Trace};

/// A GPU's time: its work, and the gaps in it. Together they are its span, without overlap.
pub(super) struct Timeline<'a> {
    trace: &'a Trace,
    pub device: DeviceId,
    /// From the first call of any process that uses it to the end of its last operation, within the window, ns.
    pub span: (Ns, Ns),
    /// Its operations by start, those asked for earlier first.
    ops: Vec<OpId>,
    /// The first call of any process that uses it, or its first operation, ns.
    first: Ns,
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
pub(super) fn timelines(trace: &Trace, window: (Ns, Ns)) -> Vec<Timeline<'_>> {
    let mut ops = vec![Vec::new(); trace.devices.len()];
    for op in trace.ops.ids() {
        if let Some(device) = trace.device_of_stream(trace.ops.stream[op.index()]).some() {
            ops[device.index()].push(op);
        }
    }
    let first_calls = first_calls(trace);
    let used = trace.devices.ids().zip(ops).filter(|(_, ops)| !ops.is_empty());
    used.map(|(device, ops)| Timeline::new(trace, device, ops, &first_calls, window)).collect()
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

impl<'a> Timeline<'a> {
    fn new(
        trace: &'a Trace,
        device: DeviceId,
        mut ops: Vec<OpId>,
        first_calls: &FxHashMap<ProcessId, Ns>,
        (from, to): (Ns, Ns),
    ) -> Timeline<'a> {
        let asked = |op: &OpId| {
            let call = trace.ops.call[op.index()].some();
            call.map_or(Ns::MIN, |call| trace.calls.start[call.index()])
        };
        let order = |op: &OpId| (trace.ops.start[op.index()], asked(op));
        if !ops.is_sorted_by_key(order) {
            ops.sort_by_key(order);
        }
        let mut processes: Vec<_> = trace.contexts.ids().map(|context| trace.contexts.row(context)).collect();
        processes.retain(|context| context.device == device);
        let calls = processes.iter().filter_map(|context| first_calls.get(&context.process)).copied();
        let starts = ops.first().map(|op| trace.ops.start[op.index()]);
        let first = calls.chain(starts).min().unwrap_or(from);
        let end = ops.iter().map(|op| trace.ops.end[op.index()]).max().unwrap_or(first);
        let span = (first.max(from), end.min(to));
        Timeline { trace, device, span: (span.0, span.1.max(span.0)), ops, first }
    }

    /// Its operations by start, those asked for earlier first.
    pub fn ops(&self) -> &[OpId] {
        &self.ops
    }

    /// The times with any operation, in order and apart.
    pub fn busy(&self) -> Vec<(Ns, Ns)> {
        let mut busy: Vec<(Ns, Ns)> = Vec::new();
        for op in &self.ops {
            let (start, end) = (self.trace.ops.start[op.index()], self.trace.ops.end[op.index()]);
            match busy.last_mut().filter(|last| start <= last.1) {
                Some(last) => last.1 = end.max(last.1),
                None => busy.push((start, end)),
            }
        }
        busy
    }

    /// The times without any operation of any stream, context and process, in order.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> {
        let (mut done, mut last) = (self.first, OpId::NONE);
        self.ops.iter().filter_map(move |op| {
            let (start, end) = (self.trace.ops.start[op.index()], self.trace.ops.end[op.index()]);
            let gap = Gap { start: done.max(self.span.0), end: start.min(self.span.1), next: *op, last };
            if end > done {
                (done, last) = (end, *op);
            }
            (gap.start < gap.end).then_some(gap)
        })
    }
}
