//! The operations of each stream by their ends, which show what a synchronization waited for.

use crate::calls::CallOrder;
use trace::{ContextId, Ns, OpId, ProcessId, StreamId, Trace};

/// How late after its end an operation's record may still count as before a call's return, ns: clocks differ by that much.
const SLACK: Ns = 2_000;

/// How many operations to look back at.
const MOST: usize = 64;

/// The operations of each stream.
pub struct StreamEnds<'a> {
    trace: &'a Trace,
    by_end: Vec<Vec<OpId>>,
    /// When the call of each operation began, ns.
    asked: Vec<Ns>,
}

impl<'a> StreamEnds<'a> {
    /// The operations of a trace.
    pub fn of(trace: &'a Trace, order: &CallOrder<'_>) -> StreamEnds<'a> {
        let ops = &trace.ops;
        let mut by_end = vec![Vec::new(); trace.streams.len()];
        for op in ops.ids() {
            if let Some(stream) = ops.stream[op.index()].some() {
                by_end[stream.index()].push(op);
            }
        }
        by_end.iter_mut().for_each(|of: &mut Vec<OpId>| of.sort_by_key(|op| (ops.end[op.index()], *op)));
        let asked = |op: OpId| match order.outermost(ops.call[op.index()]).some() {
            Some(call) => trace.calls.start[call.index()],
            // Issued before the trace begins, more often than not.
            None => Ns::MIN,
        };
        StreamEnds { trace, by_end, asked: ops.ids().map(asked).collect() }
    }

    /// The last operation of a stream that was asked for before `from` and ended by `until`.
    pub fn last(&self, stream: StreamId, from: Ns, until: Ns) -> Option<OpId> {
        let ops = &self.by_end[stream.some()?.index()];
        let ended = ops.partition_point(|op| self.trace.ops.end[op.index()] <= until + SLACK);
        let recent = ops[..ended].iter().rev().take(MOST);
        recent.copied().find(|op| self.asked[op.index()] < from)
    }

    /// The same for all streams of a context, or, if that is unknown, of a process.
    pub fn last_of_all(&self, context: ContextId, process: ProcessId, from: Ns, until: Ns) -> Vec<OpId> {
        let mine = |stream: &StreamId| match context.some() {
            Some(_) => self.trace.context_of_stream(*stream) == context,
            None => self.trace.process_of_stream(*stream) == process,
        };
        let streams = self.trace.streams.ids().filter(mine);
        streams.filter_map(|stream| self.last(stream, from, until)).collect()
    }

    /// The operation of a process that ended last of those that were asked for before `from` and ended by `until`.
    pub fn last_of_any(&self, process: ProcessId, from: Ns, until: Ns) -> Option<OpId> {
        let all = self.last_of_all(ContextId::NONE, process, from, until);
        all.into_iter().max_by_key(|op| self.trace.ops.end[op.index()])
    }
}
