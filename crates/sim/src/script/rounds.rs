//! Rounds of a thread's body, and the times of its calls in them.

use super::functions::Function;
use workload::{CallTimes, ThreadOutcome};

/// Calls longer than this are stalls, ns ([`CallTimes::stalled_ns`]).
const STALL: i64 = 1_000_000;

/// A thread's rounds, and the times of its calls in them.
pub(super) struct Rounds {
    pub in_body: bool,
    pub between_events: (i128, u64),
    /// Remaining rounds of the loops that it is in.
    pub loops: Vec<u64>,
    pub released: i64,
    pub began: i64,
    pub count: u64,
    pub elapsed: i64,
    sums: Vec<Sum>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    total: i64,
    max: i64,
    stalled: i64,
}

impl Rounds {
    pub(super) fn new() -> Rounds {
        Rounds {
            in_body: false,
            between_events: (0, 0),
            loops: Vec::new(),
            released: 0,
            began: 0,
            count: 0,
            elapsed: 0,
            sums: vec![Sum::default(); Function::ALL.len()],
        }
    }

    pub(super) fn outcome(&self) -> ThreadOutcome {
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
            rounds: self.count,
            max_error: None,
            between_events_ns: match self.between_events {
                (_, 0) => None,
                (sum, count) => Some((sum / i128::from(count)).max(0) as u64),
            },
            calls: calls.map(times).collect(),
        }
    }

    /// Adds a call that has returned, if it is one of the body.
    pub(super) fn add(&mut self, name: Function, took: i64) {
        if !self.in_body {
            return;
        }
        let sum = &mut self.sums[name as usize];
        sum.count += 1;
        sum.total += took;
        sum.max = sum.max.max(took);
        sum.stalled += if took > STALL { took } else { 0 };
    }
}
