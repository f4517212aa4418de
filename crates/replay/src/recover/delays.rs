//! Time before the start of each operation: since its call, the operation before it, or one of another stream.

use crate::arithmetic::median;
use crate::recover::costs::Costs;
use crate::recover::layout::kinds;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{CopyKind, DeviceId, MemoryKind, Ns, OpId, OpKind, StreamId, Trace};
use waits::{CallOrder, Cause, OperationWait, Waits};
use workload::StreamKind;

/// An operation that starts later than this after the one before it in its stream did not only wait for that one, ns.
const NEXT: Ns = 50_000;

/// An operation that starts sooner than this after its call's effect waited only for its own launch, ns.
const NEAR: Ns = 20_000;

/// A kernel that starts at most this long after the one before it in its stream waited for that one, ns: GPUs need 0.9 to 1.6 µs from one
/// to the next (H100, H200).
const CLOSE: Ns = 1_600;

/// A kernel that starts at most this much later after its launch than kernels usually do waited for its launch, ns. A choice.
const LATE: Ns = 500;

/// A stream that was used at most this long before another one is used beside it, ns: contexts that take turns do so within milliseconds.
const BESIDE: Ns = 10_000_000;

/// So many copies of a size show how long the usual one takes to start.
const ENOUGH: usize = 10;

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
    /// By stream.
    kinds: Vec<StreamKind>,
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
    /// Goes through the operations in the order in which they started.
    pub fn of(trace: &Trace, order: &CallOrder<'_>, costs: &Costs<'_>, waits: &Waits) -> Delays {
        let ops = &trace.ops;
        let mut started: Vec<OpId> = ops.ids().collect();
        started.sort_by_key(|op| (ops.start[op.index()], ops.end[op.index()], *op));
        let mut delays = Delays {
            issued: issued(trace, order, costs, &started),
            of: vec![Delay::default(); ops.len()],
            after: FxHashMap::default(),
            aliased: FxHashSet::default(),
            kinds: kinds(trace),
        };
        let mut devices: FxHashMap<DeviceId, Recent> = FxHashMap::default();
        let mut apart = Vec::new();
        for op in started {
            let recent = devices.entry(trace.device_of_stream(ops.stream[op.index()])).or_default();
            delays.add(trace, op, recent.before(trace, op), waits);
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

    /// Adds an operation. `before` is the end of the one before it in its stream.
    fn add(&mut self, trace: &Trace, op: OpId, before: Ns, waits: &Waits) {
        let (start, effect) = (trace.ops.start[op.index()], self.issued[op.index()]);
        let last = waits.of_op(op).iter().rfind(|part| !is_start(part));
        let last = last.filter(|part| part.end > effect.max(before));
        let before = match last {
            Some(part) => match self.other(trace, part, waits) {
                Other::Before(end) => end,
                Other::After(other) => {
                    self.after.insert(op, other);
                    self.aliased.extend(Some(op).filter(|_| part.cause == Cause::ConnectionAliasing));
                    return;
                }
                Other::Simulated => return,
            },
            None => before,
        };
        let (of, latency) = (&mut self.of[op.index()], start - effect);
        if before > effect && start - before < NEXT {
            of.gap = Some((start - before).max(0));
        } else if latency < NEAR || before <= effect {
            of.latency = Some(latency.max(0));
        }
    }

    /// The end of a wait in a replay.
    fn other(&self, trace: &Trace, part: &OperationWait, waits: &Waits) -> Other {
        let Some(behind) = part.behind.some() else { return Other::Simulated };
        let [own, others] = [part.op, behind].map(|op| trace.ops.stream[op.index()]);
        let is_end = trace.ops.end[behind.index()] <= trace.ops.start[part.op.index()];
        let is_queue_known = own.some().is_some_and(|stream| waits.queues[stream.index()].is_some());
        if part.cause == Cause::ConnectionAliasing {
            return match is_queue_known {
                true if is_end => Other::Before(part.end),
                true => Other::Simulated,
                // It started with the other one, and so after what that one waited for.
                false => self.after.get(&behind).map_or(Other::Simulated, |other| Other::After(*other)),
            };
        }
        let is_simulated = self.are_joined(own, others);
        if part.cause == Cause::Dependency && !is_simulated { Other::After(behind) } else { Other::Simulated }
    }

    /// Whether one of two streams is a legacy default stream for which the other one waits.
    fn are_joined(&self, own: StreamId, other: StreamId) -> bool {
        let kind = |stream: StreamId| stream.some().map(|stream| self.kinds[stream.index()]);
        let kinds = [kind(own), kind(other)];
        kinds.contains(&Some(StreamKind::Default)) && !kinds.contains(&Some(StreamKind::NonBlocking))
    }
}

/// The end of an operation's wait.
enum Other {
    /// For the end of the one before it in its hardware queue, ns.
    Before(Ns),
    /// For the end of an operation of another stream, which the recorded steps name.
    After(OpId),
    /// For something that the simulator's device has: an engine, room, a turn, an order.
    Simulated,
}

/// Whether a part of a wait is the start itself, or of unknown cause. When contexts change turns within a time slice is chance: the
/// recorded delays have it.
fn is_start(part: &&OperationWait) -> bool {
    matches!(part.cause, Cause::LaunchLatency | Cause::TimeSlicing | Cause::Unexplained)
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

/// When each stream of a device was last used.
#[derive(Default)]
struct Recent {
    /// The end of the last operation of each stream, ns.
    last: FxHashMap<StreamId, Ns>,
}

impl Recent {
    /// The end of the operation before this one in its stream.
    fn before(&self, trace: &Trace, op: OpId) -> Ns {
        self.last.get(&trace.ops.stream[op.index()]).copied().unwrap_or(Ns::MIN)
    }

    /// Whether no other stream was used shortly before an operation.
    fn is_alone(&self, trace: &Trace, op: OpId) -> bool {
        let (start, stream) = (trace.ops.start[op.index()], trace.ops.stream[op.index()]);
        self.last.iter().all(|(other, end)| *other == stream || end.saturating_add(BESIDE) < start)
    }

    fn add(&mut self, trace: &Trace, op: OpId) {
        let last = self.last.entry(trace.ops.stream[op.index()]).or_insert(Ns::MIN);
        *last = (*last).max(trace.ops.end[op.index()]);
    }
}
