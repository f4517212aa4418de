//! Operations that come before another one by an order that its stream does not demand: the legacy default stream, the
//! hardware queue, the order of issue.

use super::connections::Connections;
use crate::cause::Cause;
use crate::default_stream::{beside_default, is_default};
use rustc_hash::FxHashMap;
use trace::{ContextId, Ns, OpId, StreamId, Trace};

/// Until when an operation waits for another one.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// When it could have started if it did not.
    pub from: Ns,
    pub until: Ns,
    pub cause: Cause,
    /// Operation for which it waits; `NONE` if unknown.
    pub behind: OpId,
}

/// The last operation of some, ns.
#[derive(Clone, Copy)]
struct Last {
    end: Ns,
    op: OpId,
    stream: StreamId,
}

/// The legacy default streams of contexts, and the streams that synchronize with them.
pub(super) struct Defaults {
    /// Streams that ran beside their default stream: neither waits for the other.
    beside: Vec<bool>,
    /// By context: the last operation of the default stream, and of all that wait for it.
    last: FxHashMap<ContextId, [Option<Last>; 2]>,
}

impl Defaults {
    pub fn new(trace: &Trace, ops: &[OpId]) -> Defaults {
        let (starts, ends) = (&trace.ops.start, &trace.ops.end);
        let times = |op: &OpId| (trace.ops.stream[op.index()], starts[op.index()], ends[op.index()]);
        Defaults { beside: beside_default(trace, ops.iter().map(times)), last: FxHashMap::default() }
    }

    /// The side of a stream: 0 for a default stream, 1 for one that synchronizes with it.
    fn side(&self, trace: &Trace, stream: StreamId) -> Option<usize> {
        match is_default(trace, stream) {
            true => Some(0),
            false => stream.some().filter(|stream| !self.beside[stream.index()]).map(|_| 1),
        }
    }

    /// Wait of an operation of a stream for the last one on the other side: of the default stream, or of those that wait for it.
    pub fn before(&self, trace: &Trace, stream: StreamId) -> Option<Step> {
        let side = self.side(trace, stream)?;
        let last = self.last.get(&trace.context_of_stream(stream))?[1 - side]?;
        Some(Step { from: Ns::MIN, until: last.end, cause: Cause::DefaultStream, behind: last.op })
    }

    pub fn start(&mut self, trace: &Trace, stream: StreamId, op: OpId, end: Ns) {
        let Some(side) = self.side(trace, stream) else { return };
        let last = &mut self.last.entry(trace.context_of_stream(stream)).or_default()[side];
        if last.is_none_or(|last| last.end <= end) {
            *last = Some(Last { end, op, stream });
        }
    }
}

/// The hardware queues that streams share.
pub(super) struct Queues {
    pub connections: Connections,
    /// The kernel that started last in each, and when.
    last: FxHashMap<u32, (Ns, Last)>,
}

impl Queues {
    pub fn new(connections: Connections) -> Queues {
        Queues { connections, last: FxHashMap::default() }
    }

    /// Wait of a kernel for the end of the one before it in its queue, or for the start of one that still runs.
    pub fn before(&self, trace: &Trace, op: OpId) -> Option<Step> {
        let (starts, stream) = (&trace.ops.start, trace.ops.stream[op.index()]);
        let step =
            |until: Ns, behind: OpId| Step { from: Ns::MIN, until, cause: Cause::ConnectionAliasing, behind };
        let queue = self.connections.queue(stream)?;
        if queue.count > 1 {
            let behind = self.connections.behind.get(&op)?;
            return Some(step(starts[behind.index()], *behind));
        }
        let (start, last) = self.last.get(&queue.number)?;
        let until = if last.end <= starts[op.index()] { last.end } else { *start };
        (last.stream != stream).then_some(step(until, last.op))
    }

    pub fn start(&mut self, stream: StreamId, op: OpId, (start, end): (Ns, Ns)) {
        if let Some(queue) = self.connections.queue(stream) {
            self.last.insert(queue.number, (start, Last { end, op, stream }));
        }
    }
}
