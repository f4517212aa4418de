//! The wait of each operation of a device, in the order in which they started, divided among causes.

use super::asked::{Events, Launches, asked};
use super::capacity::Capacity;
use super::connections::{Connections, SharedQueue};
use super::held::Held;
use super::known::Known;
use super::order::{Defaults, Queues, Step};
use super::room::Room;
use super::signals::done_before_signal;
use super::turns::Turns;
use crate::Cause;
use crate::account::gaps::Timeline;
use crate::facts::Facts;
use crate::overlap::{Ability, Engine};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trace::{ContextId, Ns, OpId, OpKind, StreamId};

/// Most time that a start takes, ns; what is longer waited for something that is not known. A signal from one engine to
/// another takes 55 µs on a Tesla C1060 (`crates/sim/models/c1060.toml`), a launch 3 to 10 µs on newer GPUs.
const LATENCY: Ns = 100_000;

/// Most time that a launch takes to reach an idle device, ns: about 10 µs, as in `overlap/late.rs`.
const LAUNCH: Ns = 20_000;

/// Most time between the end of a kernel and the start of one that waited for it, ns, as in `overlap/slip.rs`.
const NEXT: Ns = 10_000;

/// Time that a call takes before it issues its operation, ns: the calls of `crates/sim/models` take 3 to 7 µs.
const ISSUE: Ns = 5_000;

/// The waits of one stream.
#[derive(Default)]
pub(super) struct Sums {
    pub ops: u64,
    /// Time from ready to start, ns.
    pub waited: Ns,
    pub parts: Vec<(Cause, Ns)>,
}

/// A stream, as time goes on.
#[derive(Clone, Copy)]
struct Last {
    op: OpId,
    /// Its end as recorded, and when it was done: before, if it signalled together with others.
    end: Ns,
    done: Ns,
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
pub(super) struct Piece {
    pub from: Ns,
    pub to: Ns,
    pub cause: Cause,
    behind: OpId,
    /// Whether the device had room meanwhile.
    room: bool,
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

/// The waits of a device's operations.
pub(super) struct Waits<'a> {
    facts: &'a Facts<'a>,
    window: (Ns, Ns),
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
    done: FxHashMap<OpId, Ns>,
    last: Vec<Option<Last>>,
    copies: [Vec<Run>; 2],
    /// The kernel that started last.
    kernel: Option<Run>,
    /// Kernels that run, and the one that ended last; only where engines start them in the order of issue.
    running: BinaryHeap<Reverse<(Ns, OpId)>>,
    ended: Option<(Ns, OpId)>,
    sums: Vec<Sums>,
    held: Vec<Held>,
    /// Parts of the present wait.
    pieces: Vec<Piece>,
    blocked: Vec<Piece>,
}

/// The hardware queue that each stream shares with others.
pub(crate) fn shared_queues(facts: &Facts<'_>) -> Vec<Option<SharedQueue>> {
    let trace = facts.trace;
    let mut order: Vec<OpId> = trace.ops.ids().collect();
    order.sort_by_key(|op| (trace.ops.start[op.index()], *op));
    let (mut queues, events) = (vec![None; trace.streams.len()], Events::new(facts));
    for device in trace.devices.ids().filter(|device| Ability::of(trace, *device).has_hyper_q()) {
        let mine = |op: &OpId| trace.device_of_stream(trace.ops.stream[op.index()]) == device;
        let ops: Vec<OpId> = order.iter().copied().filter(mine).collect();
        let capacity = Capacity::of(trace, device);
        let launches = Launches { facts, events: &events, capacity: capacity.as_ref() };
        let found = Connections::new(trace, &ops, &launches).queues;
        queues.iter_mut().zip(found).for_each(|(queue, found)| *queue = found.or(*queue));
    }
    queues
}

impl<'a> Waits<'a> {
    pub fn new(facts: &'a Facts<'a>, timeline: &Timeline<'_>, window: (Ns, Ns), floor: Ns) -> Waits<'a> {
        let (trace, ops) = (facts.trace, timeline.ops());
        let ability = Ability::of(trace, timeline.device);
        let capacity = Capacity::of(trace, timeline.device);
        let is_kernel = |op: &&OpId| matches!(trace.ops.kind[op.index()], OpKind::Kernel | OpKind::Graph);
        let share = |op: &OpId| capacity.as_ref().and_then(|capacity| capacity.share(trace, *op));
        let events = Events::new(facts);
        let connections = match ability.has_hyper_q() {
            true => Connections::new(
                trace,
                ops,
                &Launches { facts, events: &events, capacity: capacity.as_ref() },
            ),
            false => Connections::none(trace),
        };
        let done = match ability.signals_together() {
            true => done_before_signal(trace, ops),
            false => FxHashMap::default(),
        };
        Waits {
            facts,
            window,
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
            copies: Default::default(),
            kernel: None,
            running: BinaryHeap::new(),
            ended: None,
            sums: trace.streams.ids().map(|_| Sums::default()).collect(),
            held: Vec::new(),
            pieces: Vec::new(),
            blocked: Vec::new(),
        }
    }

    /// The streams with operations, what held the device back, and how sure that is.
    pub fn done(self) -> (Vec<(StreamId, Sums)>, Vec<Held>, Known) {
        let streams = (0..).map(StreamId::new).zip(self.sums).filter(|(_, sums)| sums.ops > 0);
        let known = Known { turns_are_likely: self.turns.are_likely, connections: self.queues.connections };
        (streams.collect(), self.held, known)
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
            self.count(&starting);
            let ordered = self.pieces.iter().filter(|piece| piece.cause == Cause::IssueOrder);
            freed = ordered.map(|piece| piece.to).fold(ready.at, Ns::max);
        }
        self.pass(&starting, freed);
        &self.pieces
    }

    fn starting(&self, op: OpId) -> Option<Starting> {
        let (trace, at) = (self.facts.trace, op.index());
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
        let asked = asked(self.facts, of.op)?;
        let before = self.last[of.stream.index()].map_or(Ns::MIN, |last| last.done);
        let ready = Ready {
            at: asked.at.max(before),
            latency: asked.at.saturating_add(self.floor),
            may_be_later: asked.in_call && before < asked.at.saturating_add(ISSUE),
        };
        // What was not recorded may have been before it.
        let is_off = || self.facts.trace.meta.pauses().any(|(off, on)| off < of.start && ready.at < on);
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
        let (mut now, mut behind) = (ready, OpId::NONE);
        if self.turns.are_taken() {
            for turn in self.turns.within(ready, of.start) {
                if turn.context == of.context {
                    self.away((now, turn.from), behind, blocked);
                    self.full((turn.from.max(now), turn.until.min(of.start)), blocked);
                    (now, behind) = (turn.until.max(now), OpId::NONE);
                } else {
                    behind = turn.first;
                }
            }
            self.away((now, of.start), behind, blocked);
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

    /// Another context has its turn: whose kernels may leave room, or not.
    fn away(&self, (from, to): (Ns, Ns), behind: OpId, blocked: &mut Vec<Piece>) {
        // A switch on demand takes long, even if no other context's kernel ran meanwhile.
        if behind.is_none() && to - from <= LATENCY {
            return;
        }
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
    fn steps(&self, of: &Starting, ready: &Ready) -> [Option<Step>; 5] {
        let trace = self.facts.trace;
        // What ends before the launch could have arrived delays nothing.
        let since = ready.at.max(ready.latency);
        let near =
            |step: &Step| since < step.until && of.start - step.until <= LATENCY && step.until <= of.start;
        let last = self.last[of.stream.index()];
        let signal = last.filter(|last| last.done < last.end).map(|last| Step {
            from: Ns::MIN,
            until: last.end,
            cause: Cause::IssueOrder,
            behind: self.kernel.map_or(OpId::NONE, |kernel| kernel.op),
        });
        [
            signal,
            self.defaults.before(trace, of.stream).filter(near),
            self.queues.before(trace, of.op).filter(|_| of.is_kernel).filter(near),
            self.issued_before(of, ready),
            self.ended_before(of, ready),
        ]
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
    /// another stream was ready then, and started first.
    fn ended_before(&self, of: &Starting, ready: &Ready) -> Option<Step> {
        let (end, op) = self.ended.filter(|(end, _)| of.is_kernel && of.start - end <= NEXT)?;
        let since = ready.at.max(ready.latency);
        let is_before = since < end && self.issue(op) < self.issue(of.op);
        is_before.then_some(Step { from: since, until: end, cause: Cause::IssueOrder, behind: op })
    }

    /// When an operation was asked for.
    fn issue(&self, op: OpId) -> Option<Ns> {
        asked(self.facts, op).map(|asked| asked.at)
    }

    /// Divides a time in which an operation's engine could have run it.
    fn free(&mut self, of: &Starting, steps: &[Option<Step>; 5], (mut now, to): (Ns, Ns)) {
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
        let rest = match self.events.precede(self.facts, of.stream, before, of.op) {
            true => Cause::Dependency,
            false if to - now <= LATENCY => return self.latency((now, to)),
            false => Cause::Unexplained,
        };
        // The start itself is last.
        let starts = now.max(to - self.floor);
        if now < starts {
            self.pieces.push(Piece { from: now, to: starts, cause: rest, behind: OpId::NONE, room: false });
        }
        self.latency((starts, to));
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

    /// Counts the pieces of a wait.
    fn count(&mut self, of: &Starting) {
        let sums = &mut self.sums[of.stream.index()];
        let (from, to) = self.window;
        let first = self.pieces.first().map_or(of.start, |piece| piece.from);
        sums.waited += (of.start.min(to) - first.max(from)).max(0);
        for piece in &self.pieces {
            let (start, end) = (piece.from.max(from), piece.to.min(to));
            if start >= end {
                continue;
            }
            match sums.parts.iter_mut().find(|(cause, _)| *cause == piece.cause) {
                Some((_, ns)) => *ns += end - start,
                None => sums.parts.push((piece.cause, end - start)),
            }
            if piece.room {
                let (op, behind, cause) = (of.op, piece.behind, piece.cause);
                self.held.push(Held { start, end, cause, op, behind });
            }
        }
    }

    /// Others may wait for the operation from now on.
    fn pass(&mut self, of: &Starting, freed: Ns) {
        let Starting { op, start, end, stream, .. } = *of;
        let trace = self.facts.trace;
        self.sums[stream.index()].ops += 1;
        let done = self.done.get(&op).copied().unwrap_or(end);
        self.last[stream.index()] = Some(Last { op, end, done });
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
