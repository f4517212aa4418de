//! Why operations started late: what the simulator knows of each, kept beside the trace, to test what is found in it.
//!
//! At each moment of its wait an operation has one cause: its engine runs others, its kernels' context has no turn or the
//! device has no room; else the order in which it must start; else the time that a start takes.

mod observations;

use crate::device::COMPUTE;
use crate::{Model, Order};
use std::collections::{BTreeMap, BTreeSet};
use trace::{OpId, Trace};

/// Cause of an operation's wait once its call had returned (or had issued it, if the call waited for it) and all before it in
/// its stream had run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Delay {
    /// Another stream's kernel before it in its hardware queue.
    ConnectionAliasing,
    /// Another operation on its copy engine.
    CopyEngineBusy,
    /// An operation that was issued before it, or the signal of kernels that were.
    IssueOrder,
    /// Another context's turn.
    TimeSlicing,
    /// Kernels that leave no room.
    GpuFull,
    /// An event.
    Dependency,
    /// The legacy default stream, or in it another stream.
    DefaultStream,
    /// Time that a start takes.
    LaunchLatency,
}

/// The wait of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Its time by cause, ns.
    pub ns: BTreeMap<Delay, i64>,
    /// The operations that it waited for, by cause: all that ran instead of it, or that came before it in an order.
    pub behind: BTreeMap<Delay, BTreeSet<OpId>>,
}

impl Delays {
    /// The whole wait, ns.
    pub fn total(&self) -> i64 {
        self.ns.values().sum()
    }

    fn add(&mut self, delay: Delay, ns: i64, behind: impl IntoIterator<Item = OpId>) {
        if ns > 0 {
            *self.ns.entry(delay).or_default() += ns;
            self.behind.entry(delay).or_default().extend(behind);
        }
    }
}

/// Observations of a run: operations by their serial numbers, and what devices had room for.
#[derive(Default)]
pub(crate) struct Observer {
    seen: BTreeMap<u32, OpLife>,
    /// By device and group: from when on which state holds.
    rooms: BTreeMap<(u32, u32), Vec<(i64, Room)>>,
}

/// The life of an operation: times in ns, and what it waited for, by serial number.
#[derive(Clone, Default)]
pub(crate) struct OpLife {
    device: u32,
    engine: u32,
    group: u32,
    issued: i64,
    /// The operation before it in its stream.
    stream: Option<u32>,
    /// The kernel before it in its hardware queue, and whether it only waits for the start of that.
    queue: Option<(u32, bool)>,
    /// Operations that events make it wait for.
    depends: Vec<u32>,
    /// Operations that the legacy default stream makes it wait for.
    joins: Vec<u32>,
    /// All of these have completed, and their signals have arrived.
    pub ready: i64,
    /// Its engine has accepted it.
    pub taken: i64,
    pub ran: i64,
    /// Its end is signalled.
    pub completed: i64,
}

/// Whether a group's next kernel could start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Free,
    Full,
    Away,
}

/// The operations of a trace by what they ran on, each with its times and its serial number.
struct Ran<'a> {
    observer: &'a Observer,
    trace: &'a Trace,
    /// By device and engine, by start.
    engines: BTreeMap<(u32, u32), Vec<(OpId, u32)>>,
    /// By serial number.
    ops: BTreeMap<u32, OpId>,
}

impl<'a> Ran<'a> {
    fn new(observer: &'a Observer, trace: &'a Trace, serials: &[u32]) -> Ran<'a> {
        let mut engines = BTreeMap::<_, Vec<_>>::new();
        for (op, serial) in trace.ops.ids().zip(serials) {
            if let Some(seen) = observer.seen.get(serial) {
                engines.entry((seen.device, seen.engine)).or_default().push((op, *serial));
            }
        }
        engines.values_mut().for_each(|ops| ops.sort_by_key(|(op, _)| (trace.ops.start[op.index()], *op)));
        Ran {
            observer,
            trace,
            engines,
            ops: trace.ops.ids().zip(serials).map(|(op, at)| (*at, op)).collect(),
        }
    }

    /// The operations of an engine that ran in a time, with their times.
    fn within(
        &self,
        engine: (u32, u32),
        (from, to): (i64, i64),
    ) -> impl Iterator<Item = (OpId, &'a OpLife, (i64, i64))> {
        let (starts, ends) = (&self.trace.ops.start, &self.trace.ops.end);
        let ops = self.engines.get(&engine).map_or(&[][..], Vec::as_slice);
        let begun = ops.partition_point(|(op, _)| starts[op.index()] < to);
        let ran = ops[..begun].iter().filter(move |(op, _)| ends[op.index()] > from);
        let seen = &self.observer.seen;
        ran.filter_map(move |(op, serial)| {
            Some((*op, seen.get(serial)?, (starts[op.index()], ends[op.index()])))
        })
    }
}

impl Observer {
    /// The delays of a trace's operations, whose serial numbers are `serials`.
    pub(crate) fn delays(self, model: &Model, trace: &Trace, serials: &[u32]) -> Vec<Delays> {
        let ran = Ran::new(&self, trace, serials);
        trace.ops.ids().zip(serials).map(|(op, serial)| self.of(model, &ran, (op, *serial))).collect()
    }

    fn of(&self, model: &Model, ran: &Ran<'_>, (op, serial): (OpId, u32)) -> Delays {
        let (trace, mut delays) = (ran.trace, Delays::default());
        let Some(seen) = self.seen.get(&serial) else { return delays };
        let start = trace.ops.start[op.index()];
        let returned = trace.ops.call[op.index()].some().map(|call| trace.calls.end[call.index()]);
        let asked = returned.filter(|end| *end <= start).unwrap_or(seen.issued);
        let before = seen.stream.and_then(|serial| self.seen.get(&serial));
        let mut now = asked.max(before.map_or(i64::MIN, |before| before.ran));
        for (until, order, behind) in self.steps(model, ran, seen) {
            let until = until.min(start).max(now);
            let away = self.resource(seen, ran, (now, until), &mut delays);
            delays.add(order, until - now - away, behind);
            now = until;
        }
        delays.add(Delay::LaunchLatency, start - now, []);
        let may_be_later =
            returned.is_none_or(|end| end > start) && before.is_none_or(|before| before.ran < asked);
        if may_be_later && delays.ns.keys().eq([&Delay::LaunchLatency]) {
            // Nobody records when a call issues an operation that it waits for.
            delays = Delays::default();
        }
        delays
    }

    /// Orders in which something comes before an operation: until when, why, and which operations.
    fn steps(&self, model: &Model, ran: &Ran<'_>, seen: &OpLife) -> [(i64, Delay, BTreeSet<OpId>); 6] {
        let op = |serial: &u32| ran.ops.get(serial).copied();
        let done = |serial: &u32| self.seen.get(serial).map_or(i64::MIN, |seen| seen.completed);
        let begun = |serial: &u32| self.seen.get(serial).map_or(i64::MIN, |seen| seen.taken);
        let before = seen.stream.and_then(|serial| self.seen.get(&serial));
        let signalled = before.map_or(i64::MIN, |before| before.completed);
        let of_engine = |engine: u32| ran.engines.get(&(seen.device, engine)).into_iter().flatten();
        let together = of_engine(COMPUTE).filter(|(_, serial)| before.is_some() && done(serial) == signalled);
        let last_of = |serials: &[u32]| {
            let until = serials.iter().map(done).max().unwrap_or(i64::MIN);
            let last = serials.iter().filter(|serial| done(serial) == until).filter_map(op);
            (until, last.collect::<BTreeSet<OpId>>())
        };
        let (joined, last_joined) = last_of(&seen.joins);
        let (depends, last) = last_of(&seen.depends);
        let queued = seen.queue.map(|(before, starts)| if starts { begun(&before) } else { done(&before) });
        let in_queue = seen.queue.iter().filter_map(|(before, _)| op(before));
        let (order, taken) = match model.device.order {
            Order::Issue => (Delay::IssueOrder, of_engine(seen.engine)),
            Order::Ready => (Delay::LaunchLatency, None.into_iter().flatten()),
        };
        let taken = taken.filter(|(_, serial)| (seen.ready..=seen.taken).contains(&begun(serial)));
        [
            (signalled, Delay::IssueOrder, together.map(|(op, _)| *op).collect()),
            (joined, Delay::DefaultStream, last_joined),
            (depends, Delay::Dependency, last),
            (queued.unwrap_or(i64::MIN), Delay::ConnectionAliasing, in_queue.collect()),
            (seen.ready, Delay::LaunchLatency, BTreeSet::new()),
            (seen.taken, order, taken.map(|(op, _)| *op).collect()),
        ]
    }

    /// Adds the part of a time in which the operation's engine could not have started it; returns it, ns.
    fn resource(&self, seen: &OpLife, ran: &Ran<'_>, (from, to): (i64, i64), delays: &mut Delays) -> i64 {
        let mut sum = 0;
        let mut add = |delay, (start, end): (i64, i64), behind: BTreeSet<OpId>| {
            let ns = (end.min(to) - start.max(from)).max(0);
            delays.add(delay, ns, behind);
            sum += ns;
        };
        if seen.engine != COMPUTE {
            for (op, _, times) in ran.within((seen.device, seen.engine), (from, to)) {
                add(Delay::CopyEngineBusy, times, BTreeSet::from([op]));
            }
            return sum;
        }
        let kernels = |times: (i64, i64), own: bool| {
            let ran = ran.within((seen.device, COMPUTE), times);
            ran.filter(|(_, of, _)| (of.group == seen.group) == own).map(|(op, ..)| op).collect()
        };
        let log = self.rooms.get(&(seen.device, seen.group)).map_or(&[][..], Vec::as_slice);
        let first = log.partition_point(|(since, _)| *since <= from).saturating_sub(1);
        for (at, (since, room)) in
            log.iter().enumerate().skip(first).take_while(|(_, (since, _))| *since < to)
        {
            let until = log.get(at + 1).map_or(i64::MAX, |(next, _)| *next);
            let times = (*since, until);
            match room {
                Room::Free => {}
                Room::Full => add(Delay::GpuFull, times, kernels(times, true)),
                Room::Away => add(Delay::TimeSlicing, times, kernels(times, false)),
            }
        }
        sum
    }
}
