//! Why operations started late: what the simulator knows of each, kept beside the trace, to test what is found in it.
//!
//! At each moment of its wait an operation has one cause: its engine runs others, its kernels' context has no turn or the
//! device has no room; else the order in which it must start; else the time that a start takes.

mod observations;

use crate::device::COMPUTE;
use crate::{Model, Order};
use std::collections::BTreeMap;
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
    /// An event, or the legacy default stream.
    Dependency,
    /// Time that a start takes.
    LaunchLatency,
}

/// The wait of one operation, by cause, ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays(pub BTreeMap<Delay, i64>);

impl Delays {
    /// The whole wait, ns.
    pub fn total(&self) -> i64 {
        self.0.values().sum()
    }

    fn add(&mut self, delay: Delay, ns: i64) {
        if ns > 0 {
            *self.0.entry(delay).or_default() += ns;
        }
    }
}

/// Observations of a run: operations by their serial numbers, and what devices had room for.
#[derive(Default)]
pub(crate) struct Observer {
    seen: BTreeMap<u32, Seen>,
    /// By device and group: from when on which state holds.
    rooms: BTreeMap<(u32, u32), Vec<(i64, Room)>>,
}

/// The life of an operation: times in ns, and what it waited for, by serial number.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    device: u32,
    engine: u32,
    group: u32,
    issued: i64,
    /// The operation before it in its stream.
    stream: Option<u32>,
    /// The kernel before it in its hardware queue, and whether it only waits for the start of that.
    queue: Option<(u32, bool)>,
    /// Operations that events and the legacy default stream make it wait for.
    depends: Vec<u32>,
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

impl Observer {
    /// The delays of a trace's operations, whose serial numbers are `serials`.
    pub(crate) fn delays(mut self, model: &Model, trace: &Trace, serials: &[u32]) -> Vec<Delays> {
        let busy = self.busy(trace, serials);
        trace.ops.ids().zip(serials).map(|(op, serial)| self.of(model, trace, &busy, (op, *serial))).collect()
    }

    /// When each engine of copies ran, by device and engine.
    fn busy(&mut self, trace: &Trace, serials: &[u32]) -> BTreeMap<(u32, u32), Vec<(i64, i64)>> {
        let mut busy = BTreeMap::<_, Vec<_>>::new();
        for (op, serial) in trace.ops.ids().zip(serials) {
            if let Some(seen) = self.seen.get(serial).filter(|seen| seen.engine != COMPUTE) {
                let times = (trace.ops.start[op.index()], trace.ops.end[op.index()]);
                busy.entry((seen.device, seen.engine)).or_default().push(times);
            }
        }
        busy
    }

    fn of(
        &self,
        model: &Model,
        trace: &Trace,
        busy: &BTreeMap<(u32, u32), Vec<(i64, i64)>>,
        (op, serial): (OpId, u32),
    ) -> Delays {
        let mut delays = Delays::default();
        let Some(seen) = self.seen.get(&serial) else { return delays };
        let start = trace.ops.start[op.index()];
        let returned = trace.ops.call[op.index()].some().map(|call| trace.calls.end[call.index()]);
        let asked = returned.filter(|end| *end <= start).unwrap_or(seen.issued);
        let done = |serial: &u32| self.seen.get(serial).map_or(i64::MIN, |seen| seen.completed);
        let before = seen.stream.and_then(|serial| self.seen.get(&serial));
        let signalled = before.map_or(i64::MIN, |before| before.completed);
        let depends = seen.depends.iter().map(done).max().unwrap_or(i64::MIN);
        let begun = |serial: &u32| self.seen.get(serial).map_or(i64::MIN, |seen| seen.taken);
        let queued = seen.queue.map(|(before, starts)| if starts { begun(&before) } else { done(&before) });
        let last = match model.device.order {
            Order::Issue => Delay::IssueOrder,
            Order::Ready => Delay::LaunchLatency,
        };
        let steps = [
            (signalled, Delay::IssueOrder),
            (depends, Delay::Dependency),
            (queued.unwrap_or(i64::MIN), Delay::ConnectionAliasing),
            (seen.ready, Delay::LaunchLatency),
            (seen.taken, last),
        ];
        let mut now = asked.max(before.map_or(i64::MIN, |before| before.ran));
        for (until, order) in steps {
            let until = until.min(start).max(now);
            let away = self.resource(seen, busy, (now, until), &mut delays);
            delays.add(order, until - now - away);
            now = until;
        }
        delays.add(Delay::LaunchLatency, start - now);
        let may_be_later =
            returned.is_none_or(|end| end > start) && before.is_none_or(|before| before.ran < asked);
        if may_be_later && delays.0.keys().eq([&Delay::LaunchLatency]) {
            // Nobody records when a call issues an operation that it waits for.
            delays.0.clear();
        }
        delays
    }

    /// Adds the part of a time in which the operation's engine could not have started it; returns it, ns.
    fn resource(
        &self,
        seen: &Seen,
        busy: &BTreeMap<(u32, u32), Vec<(i64, i64)>>,
        (from, to): (i64, i64),
        delays: &mut Delays,
    ) -> i64 {
        let mut sum = 0;
        let mut add = |delay, (start, end): (i64, i64)| {
            let ns = (end.min(to) - start.max(from)).max(0);
            delays.add(delay, ns);
            sum += ns;
        };
        if seen.engine != COMPUTE {
            let ran = busy.get(&(seen.device, seen.engine)).map_or(&[][..], Vec::as_slice);
            let first = ran.partition_point(|(_, end)| *end <= from);
            let ran = ran[first..].iter().take_while(|(start, _)| *start < to);
            ran.for_each(|times| add(Delay::CopyEngineBusy, *times));
            return sum;
        }
        let log = self.rooms.get(&(seen.device, seen.group)).map_or(&[][..], Vec::as_slice);
        let first = log.partition_point(|(since, _)| *since <= from).saturating_sub(1);
        for (at, (since, room)) in
            log.iter().enumerate().skip(first).take_while(|(_, (since, _))| *since < to)
        {
            let until = log.get(at + 1).map_or(i64::MAX, |(next, _)| *next);
            match room {
                Room::Free => {}
                Room::Full => add(Delay::GpuFull, (*since, until)),
                Room::Away => add(Delay::TimeSlicing, (*since, until)),
            }
        }
        sum
    }
}
