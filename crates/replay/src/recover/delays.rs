//! Time before the start of each operation: since its call, the operation before it, or one of another stream.

use crate::arithmetic::median;
use crate::recover::costs::Costs;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{ContextId, CopyKind, DeviceId, MemoryKind, Ns, OpId, OpKind, StreamId, SyncKind, Trace};
use waits::{CallOrder, SharedQueue};

/// An operation that starts later than this after the one before it in its stream did not only wait for that one, ns.
const NEXT: Ns = 50_000;

/// An operation of another stream that ends at most this long before the start of one that had to wait is what that waited for, ns.
const NEAR: Ns = 20_000;

/// A kernel that starts at most this long after the one before it in its stream waited for that one, ns: GPUs need 0.9 to 1.6 µs from one
/// to the next (H100, H200).
const CLOSE: Ns = 1_600;

/// A kernel that starts at most this much later after its launch than kernels usually do waited for its launch, ns. A choice.
const LATE: Ns = 500;

/// Hardware queues of a process unless it asks for more (CUDA programming guide, `CUDA_DEVICE_MAX_CONNECTIONS`).
const QUEUES: usize = 8;

/// A stream that was used at most this long before another one is used beside it, ns: contexts that take turns do so within milliseconds.
const BESIDE: Ns = 10_000_000;

/// So many copies of a size show how long the usual one takes to start.
const ENOUGH: usize = 10;

/// A stream that was asked to wait for an event at most this long before an operation was issued into it was asked for that one, ns.
const RECENT: Ns = 1_000_000;

/// Delays of each operation, and its waits for operations of other streams.
#[derive(Default)]
pub(crate) struct Delays {
    /// By operation: when it was issued, ns.
    pub issued: Vec<Ns>,
    /// By operation.
    pub of: Vec<Delay>,
    /// Operations that wait for one of another stream.
    pub after: FxHashMap<OpId, OpId>,
    /// Operations of `after` that seem to share a hardware queue with the one that they wait for.
    pub aliased: FxHashSet<OpId>,
}

/// Delays before the start of an operation, ns.
#[derive(Clone, Copy, Default)]
pub(crate) struct Delay {
    /// From its call's effect; `None`: it waited for something else.
    pub latency: Option<Ns>,
    /// From the end of the operation before it; `None`: it did not wait for that.
    pub gap: Option<Ns>,
}

impl Delays {
    /// Goes through the operations in the order in which they started. `queues`: by stream, the hardware queue
    /// that it shares with others.
    pub fn of(
        trace: &Trace,
        order: &CallOrder<'_>,
        costs: &Costs<'_>,
        queues: &[Option<SharedQueue>],
    ) -> Delays {
        let ops = &trace.ops;
        let mut started: Vec<OpId> = ops.ids().collect();
        started.sort_by_key(|op| (ops.start[op.index()], ops.end[op.index()], *op));
        let mut delays = Delays {
            issued: issued(trace, order, costs, &started),
            of: vec![Delay::default(); ops.len()],
            after: FxHashMap::default(),
            aliased: FxHashSet::default(),
        };
        let mut devices: FxHashMap<DeviceId, Recent> = FxHashMap::default();
        let (asked, crowded) = (EventWaits::of(trace), crowded(trace, queues));
        let mut apart = Vec::new();
        for op in started {
            let recent = devices.entry(trace.device_of_stream(ops.stream[op.index()])).or_default();
            let before = recent.before(trace, op, queues);
            delays.add(trace, op, before, recent, &asked, &crowded);
            let gap = delays.of[op.index()].gap;
            apart.extend(
                Some(op).filter(|_| gap.is_some_and(|gap| gap > CLOSE) && recent.is_alone(trace, op)),
            );
            recent.add(trace, op);
        }
        delays.launched_late(trace, &apart);
        delays.staged_first(trace);
        delays
    }

    /// A copy of pageable memory to the device does not start before its first piece is copied for it. Where it waited for the operation
    /// before it, that is not seen: it takes as long as the usual copy of as many bytes, or as long as there was time for.
    fn staged_first(&mut self, trace: &Trace) {
        let ops = &trace.ops;
        let is_staged = |at: &usize| {
            ops.kind[*at] == OpKind::Copy
                && ops.copy[*at] == CopyKind::HtoD
                && ops.src[*at] == MemoryKind::Pageable
        };
        let mut latencies: FxHashMap<i64, Vec<Ns>> = FxHashMap::default();
        let staged: Vec<usize> = (0..ops.len()).filter(is_staged).collect();
        for at in &staged {
            latencies.entry(ops.bytes[*at]).or_default().extend(self.of[*at].latency);
        }
        let usual: FxHashMap<i64, Ns> = latencies
            .into_iter()
            .filter(|(_, found)| found.len() >= ENOUGH)
            .filter_map(|(bytes, found)| Some((bytes, median(found.into_iter())?)))
            .collect();
        for at in staged {
            let (issued, delay) = (self.issued[at], &mut self.of[at]);
            if let (Delay { latency: None, gap: Some(_) }, Some(usual)) = (*delay, usual.get(&ops.bytes[at]))
            {
                delay.latency = Some((*usual).min(ops.start[at] - issued).max(0));
            }
        }
    }

    /// Where launches come about as fast as kernels end, a kernel may be launched just before the end of the one before it and wait for its
    /// own launch: with faster launches it would start earlier. `apart`: those that were not close to the one before them, while no other
    /// stream of the device was used: streams have other reasons to be apart.
    fn launched_late(&mut self, trace: &Trace, apart: &[OpId]) {
        let ops = &trace.ops;
        let launched = |at: &usize| ops.kind[*at] == OpKind::Kernel && ops.graph_node[*at] == 0;
        let latencies = (0..ops.len()).filter(launched).filter_map(|at| self.of[at].latency);
        let Some(usual) = median(latencies) else { return };
        for at in apart.iter().map(|op| op.index()).filter(launched) {
            let latency = ops.start[at] - self.issued[at];
            if latency <= usual + LATE {
                self.of[at] = Delay { latency: Some(latency.max(0)), gap: Some(CLOSE) };
            }
        }
    }

    /// Adds an operation. `before` is the end of the one before it in its stream or its queue.
    fn add(
        &mut self,
        trace: &Trace,
        op: OpId,
        before: Ns,
        recent: &Recent,
        asked: &EventWaits,
        crowded: &FxHashSet<ContextId>,
    ) {
        let (start, stream) = (trace.ops.start[op.index()], trace.ops.stream[op.index()]);
        let effect = self.issued[op.index()];
        let (of, latency) = (&mut self.of[op.index()], start - effect);
        if recent.started.is_some_and(|started| started > effect.max(before) && start - started < NEAR) {
            // It waited for the one before it in its hardware queue to start.
            return;
        }
        if before > effect && start - before < NEXT {
            of.gap = Some((start - before).max(0));
            return;
        }
        if latency < NEAR {
            of.latency = Some(latency.max(0));
            return;
        }
        let other = recent.ended(trace, op, effect.max(before));
        let is_event =
            |other: &OpId| asked.between(stream, effect) || is_kernel(trace, *other) != is_kernel(trace, op);
        let share = crowded.contains(&trace.context_of_stream(stream));
        match other.filter(|other| share || is_event(other)) {
            Some(other) => {
                self.after.insert(op, other);
                self.aliased.extend(Some(op).filter(|_| !is_event(&other)));
            }
            // The cause of its wait is unknown.
            None if other.is_none() && before <= effect => of.latency = Some(latency),
            None => {}
        }
    }
}

/// When each operation was issued, ns. One whose call is not known was issued before the operations of its stream that started after
/// it: in a part of a trace, many were issued before it begins.
fn issued(trace: &Trace, order: &CallOrder<'_>, costs: &Costs<'_>, started: &[OpId]) -> Vec<Ns> {
    let ops = &trace.ops;
    let mut latest: FxHashMap<StreamId, Ns> = FxHashMap::default();
    let mut issued = vec![0; ops.len()];
    for op in started.iter().rev() {
        let at = op.index();
        let latest = latest.entry(ops.stream[at]).or_insert(Ns::MAX);
        let call = order.outermost(ops.call[at]);
        let known = costs.of_call(call).map(|cost| cost.effect);
        issued[at] = known.unwrap_or(ops.start[at].min(*latest));
        // A call that waits less in a replay takes effect earlier, but not before it begins.
        *latest = call.some().map_or(issued[at], |call| trace.calls.start[call.index()] - 1);
    }
    issued
}

/// The contexts with kernels in more streams than there are hardware queues, and those of streams that share one and whose kernels run at
/// once: which ones wait for each other is only seen where they do. Not those of which it is known how they go from queue to queue.
fn crowded(trace: &Trace, queues: &[Option<SharedQueue>]) -> FxHashSet<ContextId> {
    let launched = |op: &OpId| is_kernel(trace, *op) && trace.ops.graph_node[op.index()] == 0;
    let kernels = trace.ops.ids().filter(launched);
    let streams: FxHashSet<StreamId> = kernels.map(|op| trace.ops.stream[op.index()]).collect();
    let mut counts: FxHashMap<ContextId, usize> = FxHashMap::default();
    streams.into_iter().for_each(|stream| *counts.entry(trace.context_of_stream(stream)).or_default() += 1);
    let many = counts.into_iter().filter(|(_, count)| *count > QUEUES).map(|(context, _)| context);
    let of_queues = |which: fn(&SharedQueue) -> bool| {
        let of_them =
            trace.streams.ids().filter(move |stream| queues[stream.index()].as_ref().is_some_and(which));
        of_them.map(|stream| trace.context_of_stream(stream))
    };
    let known: FxHashSet<ContextId> = of_queues(|queue| queue.count > 1).collect();
    let shared = of_queues(|queue| queue.in_order);
    many.chain(shared).filter(|context| !known.contains(context)).collect()
}

fn is_kernel(trace: &Trace, op: OpId) -> bool {
    !matches!(trace.ops.kind[op.index()], OpKind::Copy | OpKind::Memset)
}

/// The operations of a device that started last.
#[derive(Default)]
struct Recent {
    /// The end of the last operation of each stream, ns.
    last: FxHashMap<StreamId, Ns>,
    /// The last two of each stream: the last one may run still.
    ops: FxHashMap<StreamId, [OpId; 2]>,
    /// The end of the last kernel of each hardware queue that streams share, ns.
    queues: FxHashMap<u32, Ns>,
    /// The last kernel of each queue whose kernels start in the order of their launches: its stream and its start, ns.
    in_order: FxHashMap<u32, (StreamId, Ns)>,
    /// The start of the one before this operation in its queue, if that is of another stream, ns.
    started: Option<Ns>,
}

impl Recent {
    /// The end of the operation before this one, in its stream or in its hardware queue, which it is now the last of.
    fn before(&mut self, trace: &Trace, op: OpId, queues: &[Option<SharedQueue>]) -> Ns {
        let (ops, stream) = (&trace.ops, trace.ops.stream[op.index()]);
        let (start, end) = (ops.start[op.index()], ops.end[op.index()]);
        let of_stream = self.last.get(&stream).copied().unwrap_or(Ns::MIN);
        let is_launched = is_kernel(trace, op) && ops.graph_node[op.index()] == 0;
        let queue = stream.some().and_then(|stream| queues[stream.index()]).filter(|_| is_launched);
        let in_order = queue.filter(|queue| queue.in_order && queue.count == 1);
        let before = in_order.and_then(|queue| self.in_order.insert(queue.number, (stream, start)));
        self.started = before.filter(|(other, _)| *other != stream).map(|(_, started)| started);
        let one_at_a_time = queue.filter(|queue| !queue.in_order);
        let of_queue = one_at_a_time.and_then(|queue| self.queues.insert(queue.number, end));
        let of_queue = of_queue.filter(|end| *end <= start);
        of_queue.map_or(of_stream, |end| end.max(of_stream))
    }

    /// Whether no other stream was used shortly before an operation.
    fn is_alone(&self, trace: &Trace, op: OpId) -> bool {
        let (start, stream) = (trace.ops.start[op.index()], trace.ops.stream[op.index()]);
        self.last.iter().all(|(other, end)| *other == stream || end.saturating_add(BESIDE) < start)
    }

    fn add(&mut self, trace: &Trace, op: OpId) {
        let stream = trace.ops.stream[op.index()];
        let last = self.last.entry(stream).or_insert(Ns::MIN);
        *last = (*last).max(trace.ops.end[op.index()]);
        let [_, last] = self.ops.get(&stream).copied().unwrap_or([OpId::NONE; 2]);
        self.ops.insert(stream, [last, op]);
    }

    /// The operation of another stream that ended last, as this one started, and not before `from`.
    fn ended(&self, trace: &Trace, op: OpId, from: Ns) -> Option<OpId> {
        let (ops, start) = (&trace.ops, trace.ops.start[op.index()]);
        let near = |other: &OpId| {
            let end = ops.end[other.index()];
            end > from
                && (start - NEAR..=start).contains(&end)
                && ops.stream[other.index()] != ops.stream[op.index()]
        };
        self.ops
            .values()
            .flatten()
            .copied()
            .filter(|other| other.is_some())
            .filter(near)
            .max_by_key(|other| (ops.end[other.index()], *other))
    }
}

/// When streams were asked to wait for events.
struct EventWaits(FxHashMap<StreamId, Vec<Ns>>);

impl EventWaits {
    fn of(trace: &Trace) -> EventWaits {
        let syncs = &trace.syncs;
        let mut asked: FxHashMap<StreamId, Vec<Ns>> = FxHashMap::default();
        for at in (0..syncs.len()).filter(|at| syncs.kind[*at] == SyncKind::StreamWaitEvent) {
            asked.entry(syncs.stream[at]).or_default().push(syncs.start[at]);
        }
        asked.values_mut().for_each(|times| times.sort_unstable());
        EventWaits(asked)
    }

    /// Whether a stream was asked to shortly before a moment.
    fn between(&self, stream: StreamId, at: Ns) -> bool {
        let Some(times) = self.0.get(&stream) else { return false };
        let before = times.partition_point(|time| *time <= at);
        before.checked_sub(1).is_some_and(|last| at - times[last] < RECENT)
    }
}
