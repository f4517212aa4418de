//! The wait of each operation of a device, in the order in which they started, divided among causes.

use super::capacity::Capacity;
use super::connections::Connections;
use super::grounds::Grounds;
use super::launches::{Events, Launches, asked};
use super::order::{Defaults, Queues, Step};
use super::room::Room;
use super::signalled_together::{Done, done_before_signal};
use super::turns::Turns;
use crate::cause::Cause;
use crate::constants::{LAUNCH, NEXT_OPERATION, hardware_queues};
use crate::engine::{Ability, Engine};
use crate::index::Index;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trace::{ContextId, DeviceId, Ns, OpId, OpKind, ProcessId, StreamId};

/// Most time that a start takes, ns; what is longer waited for something that is not known. A signal from one engine to
/// another takes 55 µs on a Tesla C1060 (`crates/sim/models/c1060.toml`), a launch 3 to 10 µs on newer GPUs.
const LATENCY: Ns = 100_000;

/// Time that a call takes before it issues its operation, ns: the calls of `crates/sim/models` take 3 to 7 µs.
const ISSUE: Ns = 5_000;

/// A stream, as time goes on.
#[derive(Clone, Copy)]
struct Last {
    op: OpId,
    /// Its end as recorded, and when it was done: before, if it signalled together with others.
    end: Ns,
    done: Ns,
}

/// The last two operations of each stream.
#[derive(Default)]
struct Recent(FxHashMap<StreamId, [OpId; 2]>);

impl Recent {
    fn add(&mut self, stream: StreamId, op: OpId) {
        let [_, last] = self.0.get(&stream).copied().unwrap_or([OpId::NONE; 2]);
        self.0.insert(stream, [last, op]);
    }

    fn of_others(&self, stream: StreamId) -> impl Iterator<Item = OpId> {
        let others = self.0.iter().filter(move |(other, _)| **other != stream);
        others.flat_map(|(_, ops)| *ops).filter(|op| op.is_some())
    }
}

/// A copy that ran, or the kernel that started last.
#[derive(Clone, Copy)]
struct Run {
    start: Ns,
    end: Ns,
    op: OpId,
    /// When it was ready, and nothing that was issued before it kept it from starting.
    freed: Ns,
}

/// A part of an operation's wait.
#[derive(Clone, Copy)]
pub struct Piece {
    /// Start of the part, ns.
    pub from: Ns,
    /// Its end, ns.
    pub to: Ns,
    /// Cause of the wait.
    pub cause: Cause,
    /// Operation that it waited for; `NONE` if unknown, or if it waited for none.
    pub behind: OpId,
    /// Whether the device had room meanwhile.
    pub room: bool,
}

/// An operation that starts.
struct Starting {
    op: OpId,
    start: Ns,
    end: Ns,
    stream: StreamId,
    context: ContextId,
    is_kernel: bool,
    /// The separate engine of a copy.
    unit: Option<usize>,
}

/// The moment at which an operation could have started.
struct Ready {
    at: Ns,
    /// Until when its launch takes, if nothing else delays it.
    latency: Ns,
    /// Whether it may have been issued later.
    may_be_later: bool,
}

/// Divides the waits of a device's operations.
pub struct OperationWaits<'a> {
    index: &'a Index<'a>,
    /// The time that a launch into an idle GPU takes to start, ns.
    floor: Ns,
    ability: Ability,
    capacity: Option<Capacity>,
    /// Whether the part of the device that each kernel uses is known.
    room_known: bool,
    room: Room,
    turns: Turns,
    queues: Queues,
    defaults: Defaults,
    events: Events,
    /// Kernels that were done before their recorded end.
    done: FxHashMap<OpId, Done>,
    last: Vec<Option<Last>>,
    /// The last two operations of each stream: the last one may still run.
    recent: Recent,
    copies: [Vec<Run>; 2],
    /// The kernel that started last.
    kernel: Option<Run>,
    /// Kernels that run, and the one that ended last; only where engines start them in the order of issue.
    running: BinaryHeap<Reverse<(Ns, OpId)>>,
    ended: Option<(Ns, OpId)>,
    /// Parts of the present wait.
    pieces: Vec<Piece>,
    blocked: Vec<Piece>,
}

impl<'a> OperationWaits<'a> {
    /// For all operations of a device, by start, those asked for earlier first.
    /// `floor` is the time that a launch into an idle device takes to start, ns ([`launch_floor`](super::launch_floor)).
    pub fn new(index: &'a Index<'a>, device: DeviceId, ops: &[OpId], floor: Ns) -> OperationWaits<'a> {
        let trace = index.trace;
        let ability = Ability::of(trace, device);
        let capacity = Capacity::of(trace, device);
        let is_kernel = |op: &&OpId| matches!(trace.ops.kind[op.index()], OpKind::Kernel | OpKind::Graph);
        let share = |op: &OpId| capacity.as_ref().and_then(|capacity| capacity.share(trace, *op));
        let events = Events::new(index);
        let connections = match ability.has_hyper_q() {
            true => Connections::new(
                trace,
                ops,
                &Launches { index, events: &events, capacity: capacity.as_ref() },
            ),
            false => Connections::none(trace),
        };
        let done = match ability.signals_together() {
            true => done_before_signal(trace, ops),
            false => FxHashMap::default(),
        };
        OperationWaits {
            index,
            floor: floor.min(LAUNCH),
            room_known: ops.iter().filter(is_kernel).all(|op| share(op).is_some()),
            room: Room::new(capacity.as_ref(), trace.contexts.len() + 1),
            turns: Turns::new(trace, ops),
            queues: Queues::new(connections),
            defaults: Defaults::new(trace, ops),
            events,
            done,
            ability,
            capacity,
            last: vec![None; trace.streams.len()],
            recent: Recent::default(),
            copies: Default::default(),
            kernel: None,
            running: BinaryHeap::new(),
            ended: None,
            pieces: Vec::new(),
            blocked: Vec::new(),
        }
    }

    /// How sure the parts of the waits are.
    pub fn into_grounds(self) -> Grounds {
        Grounds { turns_are_likely: self.turns.are_likely, connections: self.queues.connections }
    }

    /// The next operation starts. Returns the parts of its wait, in order and without gaps.
    pub fn start(&mut self, op: OpId) -> &[Piece] {
        self.pieces.clear();
        let Some(starting) = self.starting(op) else { return &self.pieces };
        self.room.advance(starting.start);
        while self.running.peek().is_some_and(|next| next.0.0 <= starting.start) {
            self.ended = self.running.pop().map(|ended| ended.0);
        }
        let mut freed = starting.start;
        if let Some(ready) = self.ready(&starting) {
            self.divide(&starting, &ready);
            if ready.may_be_later {
                self.forget_unexplained();
            }
            let ordered = self.pieces.iter().filter(|piece| piece.cause == Cause::IssueOrder);
            freed = ordered.map(|piece| piece.to).fold(ready.at, Ns::max);
        }
        self.pass(&starting, freed);
        &self.pieces
    }

    fn starting(&self, op: OpId) -> Option<Starting> {
        let (trace, at) = (self.index.trace, op.index());
        let stream = trace.ops.stream[at].some()?;
        let kind = trace.ops.kind[at];
        let unit = match Engine::of(kind, trace.ops.copy[at]) {
            Engine::CopyIn => Some(0),
            Engine::CopyOut if self.ability.copy_engines == Some(1) => Some(0),
            Engine::CopyOut => Some(1),
            Engine::Compute | Engine::Other => None,
        };
        Some(Starting {
            op,
            start: trace.ops.start[at],
            end: trace.ops.end[at],
            stream,
            context: trace.context_of_stream(stream),
            is_kernel: matches!(kind, OpKind::Kernel | OpKind::Graph),
            unit,
        })
    }

    /// When an operation could have started; `None` if it did not wait.
    fn ready(&self, of: &Starting) -> Option<Ready> {
        let asked = asked(self.index, of.op)?;
        let before = self.last[of.stream.index()].map_or(Ns::MIN, |last| last.done);
        let ready = Ready {
            at: asked.at.max(before),
            latency: asked.at.saturating_add(self.floor),
            may_be_later: asked.in_call && before < asked.at.saturating_add(ISSUE),
        };
        // What was not recorded may have been before it.
        let is_off = || self.index.trace.meta.pauses().any(|(off, on)| off < of.start && ready.at < on);
        (ready.at < of.start && !is_off()).then_some(ready)
    }

    /// Divides a wait into pieces.
    fn divide(&mut self, of: &Starting, ready: &Ready) {
        let mut blocked = std::mem::take(&mut self.blocked);
        blocked.clear();
        match of.unit {
            Some(unit) => self.engine_runs(unit, (ready.at, of.start), &mut blocked),
            None if of.is_kernel => self.no_room(of, ready.at, &mut blocked),
            None => {}
        }
        let steps = self.steps(of, ready);
        let mut now = ready.at;
        for piece in &blocked {
            self.free(of, &steps, (now, piece.from));
            self.pieces.push(*piece);
            now = piece.to;
        }
        self.free(of, &steps, (now, of.start));
        self.blocked = blocked;
    }

    /// The times at which a copy's engine ran others.
    fn engine_runs(&self, unit: usize, (from, to): (Ns, Ns), blocked: &mut Vec<Piece>) {
        let before = self.copies[unit].iter().rev().take_while(|run| run.end > from);
        // A copy that still runs when the other one starts does not use the engine alone.
        for run in before.filter(|run| run.end <= to) {
            let until = blocked.last().map_or(to, |piece: &Piece| piece.from);
            let (from, to) = (run.start.max(from), run.end.min(until));
            if from < to {
                blocked.push(Piece { from, to, cause: Cause::CopyEngineBusy, behind: run.op, room: false });
            }
        }
        blocked.reverse();
    }

    /// The times at which a kernel's context had no turn, or other kernels left no room.
    fn no_room(&self, of: &Starting, ready: Ns, blocked: &mut Vec<Piece>) {
        if self.turns.are_taken() {
            let (mut now, mut behind) = (ready, OpId::NONE);
            for turn in self.turns.within(ready, of.start) {
                if turn.context == of.context {
                    self.away(of, (now, turn.from), behind, blocked);
                    self.full((turn.from.max(now), turn.until.min(of.start)), blocked);
                    (now, behind) = (turn.until.max(now), OpId::NONE);
                } else {
                    behind = turn.first;
                }
            }
            self.away(of, (now, of.start), behind, blocked);
        } else {
            self.full((ready, of.start), blocked);
        }
    }

    fn full(&self, (from, to): (Ns, Ns), blocked: &mut Vec<Piece>) {
        for full in self.room.full(from, to).filter(|_| from < to) {
            let (from, to) = (full.start.max(from), full.end.min(to));
            blocked.push(Piece { from, to, cause: Cause::GpuFull, behind: full.by, room: false });
        }
    }

    /// Another context has its turn: whose kernels may leave room, or not. `behind` is the first of them; `NONE` if none ran meanwhile.
    fn away(&self, of: &Starting, (from, to): (Ns, Ns), behind: OpId, blocked: &mut Vec<Piece>) {
        // A switch on demand takes long, even if no other context's kernel ran meanwhile.
        if behind.is_none() && to - from <= LATENCY {
            return;
        }
        let before = self.turns.before(from).filter(|turn| turn.context != of.context);
        let behind = behind.some().or(before.map(|turn| turn.first)).unwrap_or(OpId::NONE);
        let mut now = from;
        let mut piece = |from: Ns, to: Ns, room: bool| {
            if from < to {
                blocked.push(Piece { from, to, cause: Cause::TimeSlicing, behind, room });
            }
        };
        for full in self.room.full(from, to).filter(|_| from < to) {
            piece(now, full.start, self.room_known);
            piece(full.start.max(now), full.end.min(to), false);
            now = full.end.min(to);
        }
        piece(now, to, self.room_known);
    }

    /// Waits of an operation by some order; at each moment the first one counts.
    fn steps(&self, of: &Starting, ready: &Ready) -> [Option<Step>; 6] {
        let trace = self.index.trace;
        // What ends before the launch could have arrived delays nothing.
        let since = ready.at.max(ready.latency);
        let near =
            |step: &Step| since < step.until && of.start - step.until <= LATENCY && step.until <= of.start;
        let last = self.last[of.stream.index()];
        let signal = last.filter(|last| last.done < last.end).map(|last| Step {
            from: Ns::MIN,
            until: last.end,
            cause: Cause::IssueOrder,
            behind: self.done.get(&last.op).map_or(OpId::NONE, |done| done.last),
        });
        [
            signal,
            self.joined(of).filter(near),
            self.queues.before(trace, of.op).filter(|_| of.is_kernel).filter(near),
            self.issued_before(of, ready),
            self.ended_before(of, ready),
            self.started_with(of, ready),
        ]
    }

    /// Wait for the other side of the legacy default stream, or for an event that may have made the same order.
    fn joined(&self, of: &Starting) -> Option<Step> {
        let step = self.defaults.before(self.index.trace, of.stream)?;
        let before = self.last[of.stream.index()].map_or(OpId::NONE, |last| last.op);
        let is_default = self.events.are_absent_since(self.index, of.stream, before, (step.behind, of.op));
        Some(Step { cause: if is_default { step.cause } else { Cause::Dependency }, ..step })
    }

    /// Wait for the operation that the same engine started just before, and that was not ready: engines without Hyper-Q start
    /// operations in the order of issue.
    fn issued_before(&self, of: &Starting, ready: &Ready) -> Option<Step> {
        let head = match of.unit {
            Some(unit) => self.copies[unit].last().copied(),
            None => self.kernel.filter(|_| of.is_kernel),
        };
        let since = ready.at.max(ready.latency);
        let is_before = |head: &Run| since < head.freed && self.issue(head.op) < self.issue(of.op);
        let head = head.filter(|_| self.ability.is_in_order()).filter(is_before)?;
        Some(Step { from: since, until: head.freed, cause: Cause::IssueOrder, behind: head.op })
    }

    /// The kernel whose end let a kernel start that had been issued later, although there was room: the next kernel of
    /// another stream was ready then, and started first. Where kernels signal together, the kernel whose end let start what comes after
    /// another one in its stream.
    fn ended_before(&self, of: &Starting, ready: &Ready) -> Option<Step> {
        let is_after_kernel = || {
            let last = self.last[of.stream.index()].map(|last| self.index.trace.ops.kind[last.op.index()]);
            self.ability.signals_together() && last == Some(OpKind::Kernel)
        };
        let is_next = |end: Ns| of.start - end <= NEXT_OPERATION && (of.is_kernel || is_after_kernel());
        let (end, op) = self.ended.filter(|(end, _)| is_next(*end))?;
        let since = ready.at.max(ready.latency);
        let is_before = since < end && self.issue(op) < self.issue(of.op);
        is_before.then_some(Step { from: since, until: end, cause: Cause::IssueOrder, behind: op })
    }

    /// The kernel of another stream with whose start a kernel started that had been ready longer, while more streams had work than there
    /// are hardware queues: of such streams it is unknown which share one.
    fn started_with(&self, of: &Starting, ready: &Ready) -> Option<Step> {
        let head = self.kernel.filter(|_| of.is_kernel && self.ability.has_hyper_q())?;
        let (trace, since) = (self.index.trace, ready.at.max(ready.latency));
        let stream = trace.ops.stream[head.op.index()];
        let is_head = of.start - head.start <= NEXT_OPERATION
            && stream != of.stream
            && trace.context_of_stream(stream) == of.context
            && since < head.freed
            && self.issue(head.op) < self.issue(of.op);
        let is_shared = is_head && self.are_queues_exceeded(of.context, ready.at);
        let (until, cause) = (head.start, Cause::ConnectionAliasing);
        is_shared.then_some(Step { from: since, until, cause, behind: head.op })
    }

    /// Whether more streams of a context than there are hardware queues had an operation at a moment that was asked for and not done.
    fn are_queues_exceeded(&self, context: ContextId, at: Ns) -> bool {
        let trace = self.index.trace;
        let has_work = |stream: &StreamId| {
            let ops = self.index.in_stream(*stream);
            let next = ops.partition_point(|op| trace.ops.end[op.index()] <= at);
            ops.get(next).is_some_and(|op| self.issue(*op).is_some_and(|issue| issue <= at))
        };
        let streams = trace.streams.ids().filter(|stream| trace.context_of_stream(*stream) == context);
        let process =
            context.some().map_or(ProcessId::NONE, |context| trace.contexts.process[context.index()]);
        streams.filter(has_work).nth(hardware_queues(trace, process)).is_some()
    }

    /// When an operation was asked for.
    fn issue(&self, op: OpId) -> Option<Ns> {
        asked(self.index, op).map(|asked| asked.at)
    }

    /// Divides a time in which an operation's engine could have run it.
    fn free(&mut self, of: &Starting, steps: &[Option<Step>; 6], (mut now, to): (Ns, Ns)) {
        let room = self.room_known || !of.is_kernel;
        for Step { from, until, cause, behind } in steps.iter().flatten() {
            let until = (*until).min(to);
            if now.max(*from) < until {
                self.latency((now, *from));
                now = now.max(*from);
                self.pieces.push(Piece { from: now, to: until, cause: *cause, behind: *behind, room });
                now = until;
            }
        }
        if now >= to {
            return;
        }
        let before = self.last[of.stream.index()].map_or(OpId::NONE, |last| last.op);
        let ordered = self.recorded_before(of, (now, to));
        let may_be_ordered = || {
            ordered.is_some()
                && self.events.may_precede_since(self.index, of.stream, before, (ordered, of.op))
        };
        let mut behind = OpId::NONE;
        let rest = match self.events.precede(self.index, of.stream, before, of.op) || may_be_ordered() {
            true => {
                behind = ordered;
                Cause::Dependency
            }
            false if to - now <= LATENCY => return self.latency((now, to)),
            false => Cause::Unexplained,
        };
        // The start itself is last.
        let starts = match behind.some() {
            Some(behind) => self.index.trace.ops.end[behind.index()],
            None => now.max(to - self.floor),
        };
        if now < starts {
            // Only of what another operation's end ended it is known that the device could have run it.
            let room = room && behind.is_some();
            self.pieces.push(Piece { from: now, to: starts, cause: rest, behind, room });
        }
        self.latency((starts, to));
    }

    /// The operation that an event was likely recorded after, which an operation waited for: of those of other streams that were asked for
    /// before it and ended in a time, the last one, if it ended as that time did. No trace records what an event stands for.
    fn recorded_before(&self, of: &Starting, (from, to): (Ns, Ns)) -> OpId {
        let ends = &self.index.trace.ops.end;
        let issue = self.issue(of.op);
        let others = self.recent.of_others(of.stream).filter(|other| {
            let end = ends[other.index()];
            from < end && end <= to && to - end <= LAUNCH && self.issue(*other) < issue
        });
        others.max_by_key(|other| (ends[other.index()], *other)).unwrap_or(OpId::NONE)
    }

    fn latency(&mut self, (from, to): (Ns, Ns)) {
        if from < to {
            let (cause, behind) = (Cause::LaunchLatency, OpId::NONE);
            self.pieces.push(Piece { from, to, cause, behind, room: false });
        }
    }

    /// Of an operation whose call may have issued it later, what comes before the first known cause may be the call's work.
    fn forget_unexplained(&mut self) {
        let explains = |piece: &Piece| !matches!(piece.cause, Cause::LaunchLatency | Cause::Unexplained);
        let first = self.pieces.iter().position(explains).unwrap_or(self.pieces.len());
        self.pieces.drain(..first);
    }

    /// Others may wait for the operation from now on.
    fn pass(&mut self, of: &Starting, freed: Ns) {
        let Starting { op, start, end, stream, .. } = *of;
        let trace = self.index.trace;
        let done = self.done.get(&op).map_or(end, |done| done.at);
        self.last[stream.index()] = Some(Last { op, end, done });
        self.recent.add(stream, op);
        self.defaults.start(trace, stream, op, end);
        if let Some(unit) = of.unit {
            self.copies[unit].push(Run { start, end, op, freed });
        }
        if of.is_kernel {
            self.queues.start(stream, op, (start, end));
            self.kernel = Some(Run { start, end, op, freed });
            if self.ability.is_in_order() {
                self.running.push(Reverse((end, op)));
            }
            let share = self.capacity.as_ref().and_then(|capacity| capacity.share(trace, op)).unwrap_or(0);
            // Only contexts that take turns have the device for themselves.
            let context =
                if self.turns.are_taken() { of.context.some().map_or(0, |row| row.index() + 1) } else { 0 };
            self.room.start(context, op, (start, done.max(start)), share);
        }
    }
}
