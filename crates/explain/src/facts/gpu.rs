//! The GPU's work in streams and on devices: what is pending and when it is done.

use super::Facts;
use crate::facts::index;
use trace::{CallId, DeviceId, Ns, OpId, ProcessId, StreamId, SyncKind};

/// The work that is pending in a stream.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pending {
    pub ops: usize,
    /// The calls that issued them: one for all operations of a graph.
    pub calls: usize,
}

/// Most operations of a stream that are examined one by one.
const MOST: usize = 10_000;

/// Most operations of unknown calls that are passed over in a row to find one whose call is known.
const MOST_UNKNOWN: usize = 100;

impl Facts<'_> {
    /// Operations of a stream, by start.
    pub fn in_stream(&self, stream: StreamId) -> &[OpId] {
        self.index.in_stream(stream)
    }

    /// The last operation before `op` in its stream that was issued before `call` began: what `call` waits for anyway.
    /// Other threads may continue to submit to the stream while `call` waits for something else.
    pub fn asked_before(&self, op: OpId, call: CallId) -> Option<OpId> {
        let ops = &self.trace.ops;
        let all = self.in_stream(ops.stream[op.index()]);
        let at = all.partition_point(|other| ops.start[other.index()] < ops.start[op.index()]);
        let asked = |other: &OpId| match ops.call[other.index()].some() {
            Some(asked) => self.start(asked) < self.start(call),
            None => ops.start[other.index()] < self.start(call),
        };
        all[..at].iter().rev().take(MOST).copied().find(|other| asked(other))
    }

    /// Operations of other streams of the same device that end within `[from, to]`.
    pub fn ending_elsewhere(&self, op: OpId, from: Ns, to: Ns) -> Vec<OpId> {
        let ops = &self.trace.ops;
        let own = ops.stream[op.index()];
        let device = self.trace.device_of_stream(own);
        let streams = self.trace.streams.ids();
        let others =
            streams.filter(|stream| *stream != own && self.trace.device_of_stream(*stream) == device);
        others
            .filter_map(|stream| {
                let all = self.in_stream(stream);
                let at = all.partition_point(|other| ops.end[other.index()] < from);
                all.get(at).copied().filter(|other| ops.end[other.index()] <= to)
            })
            .collect()
    }

    /// The work that was issued into the stream before `time` and not done by then.
    pub fn pending(&self, stream: StreamId, time: Ns) -> Pending {
        let ops = &self.trace.ops;
        let all = self.in_stream(stream);
        let called = |op: &OpId| match ops.call[op.index()].some() {
            Some(call) => self.start(call) < time,
            None => ops.start[op.index()] < time,
        };
        let done = all.partition_point(|op| ops.end[op.index()] <= time);
        let asked = all.partition_point(called);
        match stream.some().filter(|_| done < asked) {
            None => Pending::default(),
            Some(stream) => {
                let index = || index::calls_of_streams(self.trace, &self.index.calls, self.index.by_stream());
                let numbers = &self.operations.stream_calls.get_or_init(index)[stream.index()];
                Pending { ops: asked - done, calls: (numbers[asked - 1] - numbers[done] + 1) as usize }
            }
        }
    }

    /// The streams that a call waited for, from the tracer's records of synchronizations. These do not record which work an
    /// event stands for.
    pub fn synced(&self, call: CallId) -> Vec<StreamId> {
        let index = || index::syncs_by_call(self.trace, &self.index.calls);
        let mut streams = Vec::new();
        for sync in self.operations.syncs.get_or_init(index).of(call).map(|sync| self.trace.syncs.row(sync)) {
            match sync.kind {
                SyncKind::Stream => streams.extend(sync.stream.some()),
                SyncKind::Context => streams.extend(self.streams_of(self.process(call), self.device(call))),
                _ => {}
            }
        }
        streams
    }

    /// The stream that a call made wait for an event or a host function; `NONE` if the trace does not say.
    pub fn ordered(&self, call: CallId) -> StreamId {
        let index = || index::syncs_by_call(self.trace, &self.index.calls);
        let mut syncs =
            self.operations.syncs.get_or_init(index).of(call).map(|sync| self.trace.syncs.row(sync));
        let waiting = syncs.find(|sync| sync.kind == SyncKind::StreamWaitEvent);
        waiting.map_or_else(|| self.stream(call), |sync| sync.stream)
    }

    /// The streams of a process on a device.
    pub fn streams_of(&self, process: ProcessId, device: DeviceId) -> impl Iterator<Item = StreamId> {
        let trace = self.trace;
        let place = move |stream: StreamId| (trace.process_of_stream(stream), trace.device_of_stream(stream));
        trace.streams.ids().filter(move |stream| place(*stream) == (process, device))
    }

    /// The time at which a stream was done with all that certainly was in it at `time`.
    pub fn done(&self, stream: StreamId, time: Ns) -> Option<Ns> {
        let ops = &self.trace.ops;
        let calls = || self.by_call(self.certain(stream, time)).take(MOST_UNKNOWN);
        let is_known = |of_call: &&[OpId]| ops.call[of_call[0].index()].is_some();
        // Those of unknown calls at the end may be a graph's, too.
        let unknown = calls().take_while(|of_call| !is_known(of_call));
        unknown.chain(calls().find(is_known)).flatten().map(|op| ops.end[op.index()]).max()
    }

    /// The operations that certainly were in a stream at `time`: they had started, or the calls that issued them had returned. A call
    /// that still waits has issued nothing yet. What comes before such an operation was in the stream, too, also if nobody
    /// knows its call.
    fn certain(&self, stream: StreamId, time: Ns) -> &[OpId] {
        let ops = &self.trace.ops;
        let all = self.in_stream(stream);
        let is_certain = |at: usize| {
            let mut calls = all[at..].iter().take(MOST_UNKNOWN).filter_map(|op| ops.call[op.index()].some());
            ops.start[all[at].index()] <= time || calls.next().is_some_and(|call| self.end(call) <= time)
        };
        let (mut certain, mut others) = (0, all.len());
        while certain < others {
            match (certain + others) / 2 {
                middle if is_certain(middle) => certain = middle + 1,
                middle => others = middle,
            }
        }
        &all[..certain]
    }

    /// Whether an operation of the stream was recorded that started at `time` or later.
    pub fn goes_on(&self, stream: StreamId, time: Ns) -> bool {
        self.in_stream(stream).last().is_some_and(|op| self.trace.ops.start[op.index()] >= time)
    }

    /// The operation that ends last of all that certainly were in the streams of a process on a device at `time`.
    pub fn last_pending(&self, process: ProcessId, device: DeviceId, time: Ns) -> Option<OpId> {
        let ops = &self.trace.ops;
        let called = |of_call: &&[OpId]| ops.call[of_call[0].index()].is_some();
        let last = |stream: StreamId| {
            let last = self.by_call(self.certain(stream, time)).take(MOST).find(called)?;
            last.iter().copied().max_by_key(|op| ops.end[op.index()])
        };
        self.streams_of(process, device).filter_map(last).max_by_key(|op| ops.end[op.index()])
    }

    /// The operation of a process on a device that ends within `[from, to]` and takes most of the time since `since`; if
    /// several take as much, the one that ends last.
    pub fn longest_ending(
        &self,
        process: ProcessId,
        device: DeviceId,
        since: Ns,
        (from, to): (Ns, Ns),
    ) -> Option<OpId> {
        let ops = &self.trace.ops;
        let ends = |op: &OpId| ops.end[op.index()];
        let near = |stream: StreamId| {
            let all = self.in_stream(stream);
            let started = &all[..all.partition_point(|op| ops.start[op.index()] <= to)];
            let late =
                self.by_call(started).take_while(move |of_call| of_call.iter().any(|op| ends(op) >= from));
            late.flatten().copied()
        };
        let is_near = |op: &OpId| (from..=to).contains(&ends(op)) && ops.call[op.index()].is_some();
        let near = self.streams_of(process, device).flat_map(near).filter(is_near);
        near.max_by_key(|op| (ops.end[op.index()] - ops.start[op.index()].max(since), ops.end[op.index()]))
    }

    /// Operations of a stream by the call that issued them, the last one first. Those of a graph are one call's, and the one that starts
    /// last need not end last.
    fn by_call<'a>(&'a self, ops: &'a [OpId]) -> impl Iterator<Item = &'a [OpId]> {
        let call = |op: &OpId| self.trace.ops.call[op.index()].some();
        ops.chunk_by(move |one, other| call(one).is_some() && call(one) == call(other)).rev()
    }
}
