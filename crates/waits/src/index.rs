//! The rows of a trace that waits are found in, by call, thread, stream and device.

use crate::by_call::{ByCall, OpsByCall};
use crate::calls::CallOrder;
use crate::class::{Class, Classes};
use crate::sorting::sort_ops_by_times;
use trace::{CallId, Ns, OpId, StreamId, Trace, WaitId};

/// A trace with the order of its calls, operations and waits.
pub struct Index<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// How its calls follow and contain each other.
    pub calls: CallOrder<'a>,
    classes: Classes,
    ops: OpsByCall,
    stream_ops: Vec<Vec<OpId>>,
    waits: ByCall<WaitId>,
    outside_waits: Vec<WaitId>,
}

impl<'a> Index<'a> {
    /// The index of a trace.
    pub fn of(trace: &'a Trace) -> Index<'a> {
        let calls = CallOrder::new(trace);
        let (waits, outside_waits) = waits_by_call(trace, &calls);
        let (ops, stream_ops) = (OpsByCall::new(&calls, trace), ops_by_stream(trace));
        Index { trace, calls, classes: Classes::new(trace), ops, stream_ops, waits, outside_waits }
    }

    /// The kind of a call.
    pub fn class(&self, call: CallId) -> Class {
        self.classes.of(self.trace.calls.name[call.index()], self.trace.calls.api[call.index()])
    }

    /// The start of a call, ns.
    pub fn start(&self, call: CallId) -> Ns {
        self.trace.calls.start[call.index()]
    }

    /// The end of a call, ns.
    pub fn end(&self, call: CallId) -> Ns {
        self.trace.calls.end[call.index()]
    }

    /// The operations that an outermost call issued.
    pub fn ops(&self, call: CallId) -> &[OpId] {
        self.ops.of(call)
    }

    /// The operations of a stream, by start.
    pub fn in_stream(&self, stream: StreamId) -> &[OpId] {
        stream.some().map_or(&[], |stream| &self.stream_ops[stream.index()])
    }

    /// The operations of each stream, by start.
    pub fn by_stream(&self) -> &[Vec<OpId>] {
        &self.stream_ops
    }

    /// The waits for CUDA's locks by the outermost call that contains them.
    pub fn lock_waits(&self) -> &ByCall<WaitId> {
        &self.waits
    }

    /// The waits for CUDA's locks that touch no call of their thread.
    pub fn outside_lock_waits(&self) -> &[WaitId] {
        &self.outside_waits
    }
}

/// The operations of each device, by start, those asked for earlier first.
pub fn ops_by_device(trace: &Trace) -> Vec<Vec<OpId>> {
    let mut by_device = vec![Vec::new(); trace.devices.len()];
    for op in trace.ops.ids() {
        if let Some(device) = trace.device_of_stream(trace.ops.stream[op.index()]).some() {
            by_device[device.index()].push(op);
        }
    }
    let asked = |op: OpId| {
        let call = trace.ops.call[op.index()].some();
        call.map_or(Ns::MIN, |call| trace.calls.start[call.index()])
    };
    let times = |op: OpId| (trace.ops.start[op.index()], asked(op));
    by_device.iter_mut().for_each(|ops| sort_ops_by_times(trace, ops, times));
    by_device
}

/// The waits for CUDA's locks, and those of the libraries above it. Waits for the program's own locks and for an
/// interpreter's have no rule.
pub fn lock_waits(trace: &Trace) -> impl Iterator<Item = WaitId> {
    let waits = &trace.waits;
    waits.ids().filter(|wait| waits.layer[wait.index()].is_cuda())
}

/// Lock waits by the outermost call that contains them, as recorded, else by their times; and those that touch no call of
/// their thread.
fn waits_by_call(trace: &Trace, order: &CallOrder<'_>) -> (ByCall<WaitId>, Vec<WaitId>) {
    let (calls, waits) = (&trace.calls, &trace.waits);
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for wait in lock_waits(trace) {
        let at = wait.index();
        let (start, end) = (waits.start[at], waits.end[at]);
        if let Some(call) = waits.call[at].some() {
            inside.push((order.outermost(call), wait));
        } else if let Some(thread) = waits.thread[at].some() {
            let own = order.of_thread(thread);
            let begun = own.partition_point(|call| calls.start[call.index()] < end);
            let last = own[..begun].last().copied();
            let over = last.map_or(Ns::MIN, |call| calls.end[call.index()]);
            match last {
                _ if over <= start => outside.push(wait),
                Some(call) if calls.start[call.index()] <= start && end <= over => {
                    inside.push((call, wait));
                }
                // A wait across the start or the end of a call is impossible: it counts as neither.
                _ => {}
            }
        }
    }
    (ByCall::new(inside.into_iter()), outside)
}

fn ops_by_stream(trace: &Trace) -> Vec<Vec<OpId>> {
    let mut streams = vec![Vec::new(); trace.streams.len()];
    for op in trace.ops.ids() {
        if let Some(stream) = trace.ops.stream[op.index()].some() {
            streams[stream.index()].push(op);
        }
    }
    streams.iter_mut().for_each(|ops| sort_ops_by_times(trace, ops, |op| trace.ops.start[op.index()]));
    streams
}
