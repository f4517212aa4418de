//! Counts of events that are not listed.

use spool::Clocks;
use std::collections::BTreeMap;
use trace::Ns;

/// A process's counts until all of its file is read.
#[derive(Default)]
pub(crate) struct Tallies {
    /// By thread and number of what was waited for.
    pub waits: BTreeMap<(u32, u32), Sum>,
    /// By thread and number of the function's name.
    pub calls: BTreeMap<(u32, u32), Sum>,
    /// Stacks of calls, by thread.
    pub stacks: BTreeMap<u32, Sum>,
}

impl Tallies {
    /// Adds a stack that took the recorder so many ticks.
    pub fn stack(&mut self, tid: u32, clocks: &Clocks, time: i64) {
        if (1..=LONGEST_STACK).contains(&clocks.duration(time)) {
            self.stacks.entry(tid).or_default().add(Sum { count: 1, timed: 1, time });
        }
    }
}

/// No stack takes longer, ns: else the thread had no processor, or libraries were listed.
const LONGEST_STACK: Ns = 200_000;

/// How many, how many of them were timed, and how many ticks those took together.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub count: u64,
    pub timed: u64,
    pub time: i64,
}

impl Sum {
    pub fn add(&mut self, Sum { count, timed, time }: Sum) {
        self.count = self.count.saturating_add(count);
        self.timed = self.timed.saturating_add(timed);
        self.time = self.time.saturating_add(time);
    }

    /// How many ticks all of them took together, if those that were not timed took as long.
    pub fn all(self) -> i64 {
        let all = i128::from(self.time) * i128::from(self.count) / i128::from(self.timed.max(1));
        i64::try_from(all).unwrap_or(i64::MAX)
    }
}
