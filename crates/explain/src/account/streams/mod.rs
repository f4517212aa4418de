//! The account of streams: from the moment at which each operation was ready to its start, by cause; and the stretches in
//! which a GPU was busy and held back: something ran, there was room, and a ready operation waited.

mod held;

pub(crate) use held::Held;

use super::gaps::Timeline;
use super::part::SHOWN;
use crate::facts::Facts;
use crate::{Cause, Confidence, Evidence};
use held::ByCause;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trace::{ContextId, DeviceId, Ns, OpId, OpKind, StreamId, Trace};
use waits::{Capacity, Communicating, Engine, Grounds, OperationWaits, Piece, WHOLE};

/// The waits of a stream's operations.
#[derive(Clone, Debug, Serialize)]
pub struct StreamAccount {
    /// CUDA device index.
    pub device: i64,
    /// Process id.
    pub pid: i64,
    /// CUPTI's number of the stream.
    pub stream: i64,
    /// Number of its operations.
    pub ops: u64,
    /// Times of its operations, summed, ns.
    pub busy_ns: Ns,
    /// Time between ready and start, summed over its operations, ns.
    pub waiting_ns: Ns,
    /// Waiting time by cause, most first; adds up to `waiting_ns`.
    pub waiting: Vec<WaitPart>,
}

/// A part of the time for which operations waited although they were ready.
#[derive(Clone, Debug, Serialize)]
pub struct WaitPart {
    /// The cause.
    pub cause: Cause,
    /// Its time, ns.
    pub ns: Ns,
    /// The evidence that it rests on.
    pub evidence: Evidence,
    /// The confidence.
    pub confidence: Confidence,
    /// The finding that has most of this time; of a stream's wait, of the part in which it held the GPU back. `None` if most of
    /// it is in none.
    pub finding: Option<String>,
}

/// A part of a GPU's busy time in which it was held back.
#[derive(Clone, Debug, Serialize)]
pub struct HeldBack {
    /// The cause, its time, and how sure it is.
    #[serde(flatten)]
    pub part: WaitPart,
    /// The streams that waited and what they waited for, most time first; at most three.
    pub streams: Vec<Behind>,
}

/// A stream that waited, and the stream that it waited for.
#[derive(Clone, Debug, Serialize)]
pub struct Behind {
    /// CUPTI's number of the stream whose operation was ready.
    pub stream: i64,
    /// CUPTI's number of the stream whose operation it waited for; `None` if unknown.
    pub behind: Option<i64>,
    /// The time, ns.
    pub ns: Ns,
}

/// Waits of a GPU's operations.
pub(crate) struct Waiting {
    pub streams: Vec<StreamAccount>,
    /// Which streams these are.
    pub ids: Vec<StreamId>,
    /// Stretches in which the GPU was held back, in order and apart: parts of its busy time.
    pub held: Vec<Held>,
    grounds: Grounds,
}

impl Waiting {
    /// Waits of a GPU's operations within a window.
    pub fn of(facts: &Facts<'_>, timeline: &Timeline<'_>, window: (Ns, Ns)) -> Waiting {
        let trace = facts.trace;
        let mut waits = OperationWaits::new(&facts.index, timeline.device, timeline.ops(), timeline.floor());
        let (mut sums, mut held) = (vec![Sums::default(); trace.streams.len()], Vec::new());
        for op in timeline.ops().iter().copied() {
            let Some(stream) = trace.ops.stream[op.index()].some() else { continue };
            let of = &mut sums[stream.index()];
            of.busy +=
                (trace.ops.end[op.index()].min(window.1) - trace.ops.start[op.index()].max(window.0)).max(0);
            of.add(op, waits.start(op), window, &mut held);
        }
        // What the program ordered costs time only where the engine that has most to do waits. Who needs what another GPU sends waits for
        // that, and not for the order: it is communication that runs alone.
        let (most, mut communicating) = (busiest(trace, timeline), Communicating::new(trace));
        let mut communicates = |op: OpId| op.is_some() && communicating.has(op);
        held.retain(|held| {
            held.cause != Cause::Dependency || engine(trace, held.op) == most && !communicates(held.behind)
        });
        let grounds = waits.into_grounds();
        let streams = trace.streams.ids().zip(sums).filter(|(_, sums)| sums.ops > 0);
        let account = |(stream, sums)| (stream, of_stream(trace, timeline.device, &grounds, stream, sums));
        let (ids, streams) = streams.map(account).unzip();
        Waiting { streams, ids, held: held::apart(held, &timeline.busy()), grounds }
    }

    /// The time for which the GPU was held back by cause, most first.
    pub fn held_back(&self, trace: &Trace) -> Vec<HeldBack> {
        let stream = |op: OpId| op.some().map_or(StreamId::NONE, |op| trace.ops.stream[op.index()]);
        let number = |stream: StreamId| stream.some().map(|row| trace.streams.number[row.index()]);
        let part = |ByCause { cause, ns, pairs }: ByCause| {
            let context =
                pairs.first().map_or(ContextId::NONE, |((waits, _), _)| trace.context_of_stream(*waits));
            let (evidence, confidence) = self.grounds.of(cause, context);
            let behind =
                |((waits, behind), ns)| Some(Behind { stream: number(waits)?, behind: number(behind), ns });
            let streams = pairs.into_iter().take(SHOWN).filter_map(behind).collect();
            HeldBack { part: WaitPart { cause, ns, evidence, confidence, finding: None }, streams }
        };
        held::by_cause(&self.held, stream).into_iter().map(part).collect()
    }
}

fn of_stream(
    trace: &Trace,
    device: DeviceId,
    grounds: &Grounds,
    stream: StreamId,
    sums: Sums,
) -> StreamAccount {
    let context = trace.context_of_stream(stream);
    let part = |(cause, ns)| {
        let (evidence, confidence) = grounds.of(cause, context);
        WaitPart { cause, ns, evidence, confidence, finding: None }
    };
    let mut waiting: Vec<WaitPart> = sums.parts.into_iter().map(part).collect();
    waiting.sort_by_key(|part| (Reverse(part.ns), part.cause));
    let process = trace.process_of_stream(stream);
    StreamAccount {
        device: trace.devices.ordinal[device.index()],
        pid: process.some().map_or(0, |process| trace.processes.pid[process.index()]),
        stream: trace.streams.number[stream.index()],
        ops: sums.ops,
        busy_ns: sums.busy,
        waiting_ns: sums.waited,
        waiting,
    }
}

/// The waits of one stream.
#[derive(Clone, Default)]
struct Sums {
    ops: u64,
    /// Times of its operations, ns.
    busy: Ns,
    /// Time from ready to start, ns.
    waited: Ns,
    parts: Vec<(Cause, Ns)>,
}

impl Sums {
    /// Adds the parts of an operation's wait within a window, and to `held` those in which the device had room.
    fn add(&mut self, op: OpId, pieces: &[Piece], (from, to): (Ns, Ns), held: &mut Vec<Held>) {
        self.ops += 1;
        for Piece { from: start, to: end, cause, behind, room } in pieces.iter().copied() {
            let (start, end) = (start.max(from), end.min(to));
            if start >= end {
                continue;
            }
            self.waited += end - start;
            match self.parts.iter_mut().find(|(other, _)| *other == cause) {
                Some((_, ns)) => *ns += end - start,
                None => self.parts.push((cause, end - start)),
            }
            if room {
                held.push(Held { start, end, cause, op, behind });
            }
        }
    }
}

/// When a GPU was busy and its kernels left room, in order and apart: no room where it is not known what they use.
pub(super) fn room(trace: &Trace, timeline: &Timeline<'_>) -> Vec<(Ns, Ns)> {
    let room = beside_operations(trace, timeline);
    // A kernel that only waits for a later rank takes room, but does not make the GPU busy.
    if timeline.waits() { common(&room, &timeline.busy()) } else { room }
}

/// The times that are in both of two sets of times, each in order and apart.
fn common(one: &[(Ns, Ns)], other: &[(Ns, Ns)]) -> Vec<(Ns, Ns)> {
    let (mut common, mut next) = (Vec::new(), 0);
    for (from, to) in one {
        while other.get(next).is_some_and(|(_, end)| end <= from) {
            next += 1;
        }
        let within = other[next..].iter().take_while(|(start, _)| start < to);
        common.extend(within.map(|(start, end)| (*start.max(from), *end.min(to))));
    }
    common
}

fn engine(trace: &Trace, op: OpId) -> Engine {
    Engine::of(trace.ops.kind[op.index()], trace.ops.copy[op.index()])
}

/// The engine of a GPU that has most to do, each kernel counted as the part of the GPU that it uses.
fn busiest(trace: &Trace, timeline: &Timeline<'_>) -> Engine {
    let capacity = Capacity::of(trace, timeline.device);
    let mut times = [(Engine::Compute, 0), (Engine::CopyIn, 0), (Engine::CopyOut, 0), (Engine::Other, 0)];
    for op in timeline.ops().iter().copied() {
        let share = capacity.as_ref().and_then(|capacity| capacity.share(trace, op)).unwrap_or(WHOLE);
        let time = i128::from(trace.ops.end[op.index()] - trace.ops.start[op.index()]) * i128::from(share);
        let own = engine(trace, op);
        times.iter_mut().filter(|(engine, _)| *engine == own).for_each(|(_, all)| *all += time);
    }
    times.into_iter().max_by_key(|(_, time)| *time).map_or(Engine::Compute, |(engine, _)| engine)
}

/// When operations ran and left room.
fn beside_operations(trace: &Trace, timeline: &Timeline<'_>) -> Vec<(Ns, Ns)> {
    let capacity = Capacity::of(trace, timeline.device);
    let share = |op: OpId| match trace.ops.kind[op.index()] {
        OpKind::Copy | OpKind::Memset => 0,
        OpKind::Unknown | OpKind::Kernel | OpKind::Graph => {
            capacity.as_ref().and_then(|capacity| capacity.share(trace, op)).unwrap_or(WHOLE)
        }
    };
    let mut room = Vec::<(Ns, Ns)>::new();
    let mut running = BinaryHeap::<Reverse<(Ns, i64)>>::new();
    let (mut used, mut now) = (0, Ns::MIN);
    let mut until = |to: Ns, used: i64, busy: bool, now: &mut Ns| {
        if busy && used < WHOLE && *now < to {
            match room.last_mut().filter(|last| last.1 == *now) {
                Some(last) => last.1 = to,
                None => room.push((*now, to)),
            }
        }
        *now = to.max(*now);
    };
    let starts = timeline.ops().iter().copied().map(Some).chain([None]);
    for op in starts {
        let start = op.map_or(Ns::MAX, |op| trace.ops.start[op.index()]);
        while let Some(Reverse((end, share))) = running.peek().copied().filter(|next| next.0.0 <= start) {
            until(end, used, true, &mut now);
            running.pop();
            used -= share;
        }
        let Some(op) = op else { break };
        until(start, used, !running.is_empty(), &mut now);
        let share = share(op);
        running.push(Reverse((trace.ops.end[op.index()].max(start), share)));
        used += share;
    }
    room
}
