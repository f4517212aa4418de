//! When operations were asked for, and which of them the program ordered after an event.

use super::capacity::Capacity;
use crate::class::Class;
use crate::index::Index;
use rustc_hash::FxHashSet;
use trace::{Argument, CallId, Ns, OpId, StreamId, Sym, SyncKind};

/// The moment from which on an operation was asked for.
#[derive(Clone, Copy)]
pub(super) struct Issue {
    pub at: Ns,
    /// Whether its call still ran when it started: then it may have been issued later.
    pub in_call: bool,
}

/// When an operation was asked for: its call returned, or, if the call waits for it, the call had the last lock that it
/// waited for. `None` if no call is known.
pub(super) fn asked(index: &Index<'_>, op: OpId) -> Option<Issue> {
    let call = index.calls.outermost(index.trace.ops.call[op.index()]).some()?;
    let start = index.trace.ops.start[op.index()];
    let end = index.end(call);
    if end <= start {
        return Some(Issue { at: end, in_call: false });
    }
    if !matches!(index.class(call), Class::Copy { .. }) {
        // It started as soon as it was there.
        return Some(Issue { at: start, in_call: false });
    }
    let waits = index
        .lock_waits()
        .of(call)
        .map(|wait| index.trace.waits.end[wait.index()])
        .filter(|end| *end <= start);
    let at = waits.fold(index.start(call), Ns::max).min(start);
    Some(Issue { at, in_call: true })
}

/// Facts about launched kernels that are known before their waits are divided.
pub(super) struct Launches<'a> {
    pub index: &'a Index<'a>,
    pub events: &'a Events,
    pub capacity: Option<&'a Capacity>,
}

impl Launches<'_> {
    /// The operation before one in its stream.
    fn before(&self, op: OpId) -> Option<OpId> {
        let ops = &self.index.trace.ops;
        let stream = self.index.in_stream(ops.stream[op.index()]);
        let at = stream.partition_point(|other| ops.start[other.index()] < ops.start[op.index()]);
        at.checked_sub(1).map(|at| stream[at])
    }

    /// The call that launched a kernel, ns.
    pub fn call(&self, op: OpId) -> Option<(Ns, Ns)> {
        let call = self.index.calls.outermost(self.index.trace.ops.call[op.index()]).some()?;
        Some((self.index.start(call), self.index.end(call)))
    }

    /// The part of the device that it uses, of [`super::capacity::WHOLE`].
    pub fn share(&self, op: OpId) -> Option<i64> {
        self.capacity?.share(self.index.trace, op)
    }

    /// When it could have started, as far as its own stream is concerned, ns.
    pub fn ready_in_stream(&self, op: OpId) -> Option<Ns> {
        let before = self.before(op).map_or(Ns::MIN, |before| self.index.trace.ops.end[before.index()]);
        Some(asked(self.index, op)?.at.max(before))
    }

    /// The same; `None` if it waits for an event, or may.
    pub fn ready(&self, op: OpId) -> Option<Ns> {
        let (stream, before) = (self.index.trace.ops.stream[op.index()], self.before(op));
        let waits = self.events.may_precede(self.index, stream, before.unwrap_or(OpId::NONE), op);
        self.ready_in_stream(op).filter(|_| !waits)
    }

    /// Whether an operation waits for no event recorded after another one, as far as the trace tells.
    pub fn waits_for_no_event(&self, op: OpId, other: OpId) -> bool {
        let stream = self.index.trace.ops.stream[op.index()];
        self.events.are_absent_since(self.index, stream, self.before(op).unwrap_or(OpId::NONE), (other, op))
    }
}

/// The calls that make a stream wait for an event, by start.
pub(super) struct Events {
    by_stream: Vec<Vec<Ns>>,
    /// Calls whose stream is unknown.
    others: Vec<Ns>,
    /// Whether the trace has such calls, if there were any: PyTorch's profiler leaves them out, unless it is asked for them.
    are_recorded: bool,
}

impl Events {
    pub fn new(index: &Index<'_>) -> Events {
        let trace = index.trace;
        let mut by_stream = vec![Vec::new(); trace.streams.len()];
        let mut add = |stream: StreamId, call: CallId, start: Ns| {
            if let Some(stream) = stream.some() {
                by_stream[stream.index()].push(call.some().map_or(start, |call| index.start(call)));
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
        let others = others(index, &by_stream);
        let has_any = !others.is_empty() || by_stream.iter().any(|starts| !starts.is_empty());
        Events { are_recorded: has_any || trace.meta.source != "kineto", others, by_stream }
    }

    /// Whether no event after an operation `other` made an operation wait, which comes after `before` in its stream.
    pub fn are_absent_since(
        &self,
        index: &Index<'_>,
        stream: StreamId,
        before: OpId,
        ops: (OpId, OpId),
    ) -> bool {
        self.are_recorded && !self.may_precede_since(index, stream, before, ops)
    }

    /// Whether an event after an operation `other` made an operation wait, or may have, which comes after `before` in its stream: such an
    /// event is recorded, and waited for, when `other` has been asked for.
    pub fn may_precede_since(
        &self,
        index: &Index<'_>,
        stream: StreamId,
        before: OpId,
        (other, op): (OpId, OpId),
    ) -> bool {
        let issue = |op: &OpId| asked(index, *op).map(|asked| asked.at);
        let since =
            [before, other].into_iter().filter(|op| op.is_some()).max_by_key(issue).unwrap_or(OpId::NONE);
        self.may_precede(index, stream, since, op)
    }

    /// Whether an event was, or may have been, waited for between the calls of two operations of a stream, `before` and `op`.
    pub fn may_precede(&self, index: &Index<'_>, stream: StreamId, before: OpId, op: OpId) -> bool {
        self.precede(index, stream, before, op) || is_between(&self.others, index, before, op)
    }

    /// Whether an event was waited for between the calls of two operations of a stream, `before` and `op`.
    pub fn precede(&self, index: &Index<'_>, stream: StreamId, before: OpId, op: OpId) -> bool {
        stream.some().is_some_and(|stream| is_between(&self.by_stream[stream.index()], index, before, op))
    }
}

/// Whether one of these moments is between the calls of two operations.
fn is_between(moments: &[Ns], index: &Index<'_>, before: OpId, op: OpId) -> bool {
    if moments.is_empty() {
        return false;
    }
    let issue = |op: OpId| {
        let call = op.some().and_then(|op| index.trace.ops.call[op.index()].some());
        call.map_or(Ns::MIN, |call| index.start(call))
    };
    let last = moments.partition_point(|moment| *moment <= issue(op));
    last > 0 && moments[last - 1] > issue(before)
}

/// The calls that make a stream wait for an event that are in no stream's list.
fn others(index: &Index<'_>, by_stream: &[Vec<Ns>]) -> Vec<Ns> {
    let trace = index.trace;
    let waits: FxHashSet<Sym> = trace
        .calls
        .name
        .iter()
        .copied()
        .collect::<FxHashSet<Sym>>()
        .into_iter()
        .filter(|name| is_wait(trace.text(*name)))
        .collect();
    let known: FxHashSet<Ns> = by_stream.iter().flatten().copied().collect();
    let calls = trace.calls.ids().filter(|call| waits.contains(&trace.calls.name[call.index()]));
    let mut others: Vec<Ns> =
        calls.map(|call| index.start(call)).filter(|start| !known.contains(start)).collect();
    others.sort_unstable();
    others
}

fn is_wait(name: &str) -> bool {
    ["cudaStreamWaitEvent", "cuStreamWaitEvent"].iter().any(|wait| name.starts_with(wait))
}
