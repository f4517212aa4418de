//! When operations were asked for, and which of them the program ordered after an event.

use crate::class::Class;
use crate::facts::Facts;
use trace::{Argument, CallId, Ns, OpId, StreamId, SyncKind};

/// The moment from which on an operation was asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub at: Ns,
    /// Whether its call still ran when it started: then it may have been issued later.
    pub in_call: bool,
}

/// When an operation was asked for: its call returned, or, if the call waits for it, the call had the last lock that it
/// waited for. `None` if no call is known.
pub(super) fn asked(facts: &Facts<'_>, op: OpId) -> Option<Asked> {
    let call = facts.outermost(facts.trace.ops.call[op.index()]).some()?;
    let start = facts.trace.ops.start[op.index()];
    let end = facts.end(call);
    if end <= start {
        return Some(Asked { at: end, in_call: false });
    }
    if !matches!(facts.class(call), Class::Copy { .. }) {
        // It started as soon as it was there.
        return Some(Asked { at: start, in_call: false });
    }
    let waits = facts.waits(call).map(|wait| facts.trace.waits.end[wait.index()]).filter(|end| *end <= start);
    let at = waits.fold(facts.start(call), Ns::max).min(start);
    Some(Asked { at, in_call: true })
}

/// The calls that make a stream wait for an event, by stream and start.
pub(super) struct Events(Vec<Vec<Ns>>);

impl Events {
    pub fn new(facts: &Facts<'_>) -> Events {
        let trace = facts.trace;
        let mut by_stream = vec![Vec::new(); trace.streams.len()];
        let mut add = |stream: StreamId, call: CallId, start: Ns| {
            if let Some(stream) = stream.some() {
                by_stream[stream.index()].push(call.some().map_or(start, |call| facts.start(call)));
            }
        };
        for sync in trace.syncs.ids().map(|sync| trace.syncs.row(sync)) {
            if sync.kind == SyncKind::StreamWaitEvent {
                add(sync.stream, sync.call, sync.start);
            }
        }
        for Argument { call, stream, .. } in trace.arguments.ids().map(|row| trace.arguments.row(row)) {
            if call.some().is_some_and(|call| is_wait(trace.text(trace.calls.name[call.index()]))) {
                add(stream, call, Ns::MIN);
            }
        }
        by_stream.iter_mut().for_each(|starts| starts.sort_unstable());
        Events(by_stream)
    }

    /// Whether an event was waited for between the calls of two operations of a stream, `before` and `op`.
    pub fn precede(&self, facts: &Facts<'_>, stream: StreamId, before: OpId, op: OpId) -> bool {
        let Some(starts) =
            stream.some().map(|stream| &self.0[stream.index()]).filter(|starts| !starts.is_empty())
        else {
            return false;
        };
        let issue = |op: OpId| {
            let call = op.some().and_then(|op| facts.trace.ops.call[op.index()].some());
            call.map_or(Ns::MIN, |call| facts.start(call))
        };
        let last = starts.partition_point(|start| *start <= issue(op));
        last > 0 && starts[last - 1] > issue(before)
    }
}

fn is_wait(name: &str) -> bool {
    ["cudaStreamWaitEvent", "cuStreamWaitEvent"].iter().any(|wait| name.starts_with(wait))
}
