//! The state of a host thread.

use crate::functions::Function;
use crate::locks::{Holder, Kind};
use crate::plan::NONE;
use workload::{CallTimes, ThreadOutcome};

/// Calls longer than this are stalls, ns ([`CallTimes::stalled_ns`]).
const STALL: i64 = 1_000_000;

/// Current stage of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Executes steps.
    Going,
    /// Is in a call, which waits for a lock or the device.
    Calling,
    /// Waits at a barrier.
    Meeting,
    /// Waits for the release of all threads.
    Prepared,
    /// Waits to launch into a full stream.
    Blocked,
    /// Waits for a signal.
    Awaiting,
    /// Has ended.
    Finished,
}

/// A host thread.
pub(crate) struct HostThread {
    pub stage: Stage,
    /// Whether it uses or waits for a processor.
    pub awake: bool,
    /// Its next step.
    pub at: u32,
    /// Remaining rounds of the loops that it is in.
    pub loops: Vec<u64>,
    /// Its call: a row of plans.
    pub plan: u32,
    pub started: i64,
    /// The row of its call in the trace.
    pub call: u32,
    /// Number of operations that it waits for.
    pub awaited: u32,
    /// Whether it waits before it takes effect, as a free does.
    pub waits_first: bool,
    /// The time that the call spends with its locks, ns.
    pub held: i64,
    /// Remaining pieces of the call.
    pub pieces: u32,
    /// When it held each lock last, by [`Kind`]; in the future if never.
    pub had: [i64; Kind::COUNT],
    /// Which locks it holds, by [`Kind`].
    pub has: [bool; Kind::COUNT],
    /// The lock that it waits for.
    pub wait: Option<Wait>,
    pub in_body: bool,
    pub released: i64,
    pub round_began: i64,
    pub rounds: u64,
    /// Times measured between events: the sum, ns, and the count.
    pub between_events: (i128, u64),
    pub elapsed: i64,
    pub sums: Vec<Sum>,
}

/// A wait for a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub lock: u32,
    pub exclusive: bool,
    /// Number of times that it was woken too late.
    pub late: u32,
    pub since: i64,
    /// The longest holder at that time, and the number of holders.
    pub holder: Holder,
    pub holders: u32,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub count: u64,
    pub total: i64,
    pub max: i64,
    pub stalled: i64,
}

impl HostThread {
    pub(crate) fn new() -> HostThread {
        HostThread {
            stage: Stage::Going,
            awake: false,
            at: 0,
            loops: Vec::new(),
            plan: 0,
            started: 0,
            call: NONE,
            awaited: 0,
            waits_first: false,
            held: 0,
            pieces: 1,
            had: [i64::MAX; Kind::COUNT],
            has: [false; Kind::COUNT],
            wait: None,
            in_body: false,
            released: 0,
            round_began: 0,
            rounds: 0,
            elapsed: 0,
            between_events: (0, 0),
            sums: vec![Sum::default(); Function::ALL.len()],
        }
    }

    pub(crate) fn outcome(&mut self) -> ThreadOutcome {
        let calls = Function::ALL.iter().zip(&self.sums).filter(|(_, sum)| sum.count > 0);
        let times = |(name, sum): (&Function, &Sum)| CallTimes {
            name: name.text(),
            count: sum.count,
            total_ns: sum.total as u64,
            max_ns: sum.max as u64,
            stalled_ns: sum.stalled as u64,
        };
        ThreadOutcome {
            elapsed_ns: self.elapsed as u64,
            rounds: self.rounds,
            max_error: None,
            between_events_ns: match self.between_events {
                (_, 0) => None,
                (sum, count) => Some((sum / i128::from(count)).max(0) as u64),
            },
            calls: calls.map(times).collect(),
        }
    }

    pub(crate) fn add(&mut self, name: Function, took: i64) {
        let sum = &mut self.sums[name as usize];
        sum.count += 1;
        sum.total += took;
        sum.max = sum.max.max(took);
        sum.stalled += if took > STALL { took } else { 0 };
    }
}
