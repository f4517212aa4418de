//! Events that a recording counts and does not list: waits and calls that are too short, and the recorder's own work.

use super::state::Process;
use super::state::tallies::Sum;
use spool::CallTally;
use std::collections::BTreeMap;
use trace::{Sym, TallyKind};

impl Process<'_, '_> {
    /// Keeps a count of waits for an [`spool::Awaited`] of that number.
    pub(super) fn tally_waits(&mut self, awaited: u32, tally: spool::Tally) {
        let spool::Tally { tid, count, time } = tally;
        let key = (self.valid_tid(tid), awaited);
        self.later.tallies.waits.entry(key).or_default().add(Sum { count, timed: count, time });
    }

    /// Keeps a count of calls of the function whose name has that number.
    pub(super) fn tally_calls(&mut self, name: u32, tally: CallTally) {
        let CallTally { tid, count, timed, time } = tally;
        let key = (self.valid_tid(tid), name);
        self.later.tallies.calls.entry(key).or_default().add(Sum { count, timed, time });
    }

    /// Adds the counts to their table.
    pub(super) fn tallies(&mut self) {
        let kept = std::mem::take(&mut self.later.tallies);
        for ((tid, awaited), sum) in kept.waits {
            let kind = self.awaited(awaited);
            let name = self.all.trace.strings.intern(kind.name());
            self.tally(tid, TallyKind::Wait, name, sum);
        }
        // Versions of a function are one function.
        let mut calls = BTreeMap::<(u32, Sym), Sum>::new();
        for ((tid, name), sum) in kept.calls {
            let api = self.function(name).api;
            let name = self.texts.function(&mut self.all.trace.strings, api, name);
            calls.entry((tid, name)).or_default().add(sum);
        }
        for ((tid, name), sum) in calls {
            self.tally(tid, TallyKind::Call, name, sum);
        }
        for (tid, sum) in kept.stacks {
            let name = self.all.trace.strings.intern(trace::STACKS);
            self.tally(tid, TallyKind::Recorder, name, sum);
        }
    }

    fn tally(&mut self, tid: u32, kind: TallyKind, name: Sym, sum: Sum) {
        let count = i64::try_from(sum.count).unwrap_or(i64::MAX);
        // A damaged count may be any.
        let time = self.clocks.duration(sum.all()).clamp(0, trace::FAR);
        let thread = self.thread(tid);
        self.all.trace.tallies.push(trace::Tally { thread, kind, name, count, time });
    }
}

#[cfg(test)]
mod tests {
    use crate::gather::read_bytes;
    use spool::{Awaited, Build, Call, CallTally, Level, Stack, Tally};

    #[test]
    fn counts_of_a_thread_add_up() {
        let (one, other) = (7, 8);
        let mut build = Build::new(one, Level::Full);
        let launch = build.text(one, "cuLaunchKernel");
        build.record(one, Call::KIND, launch, &[Call { start: 10, end: 2_000, ..Call::default() }.bytes()]);
        for (tid, count, time) in [(one, 3, 900), (other, 1, 10), (one, 4, 100)] {
            let tally = Tally { tid: tid.into(), count, time };
            build.record(other, Tally::KIND, Awaited::Gil as u32, &[tally.bytes()]);
        }
        let names = ["cuPointerGetAttribute", "cudaGetDevice", "cudaGetDevice_ptsz"];
        for (name, count) in names.into_iter().zip([5, 6, 7]) {
            let name = build.text(one, name);
            let tally = CallTally { tid: one.into(), count, timed: 1, time: 10 };
            build.record(one, CallTally::KIND, name, &[tally.bytes()]);
        }
        // The first stack does not know of another one; during the one of 3 ms, the thread had no processor.
        for (at, last) in [0, 900, 3_000_000, 1_100].into_iter().enumerate() {
            let start = 10 + 100 * at as i64;
            let stack = Stack { start, end: start + 50, last, python: 0 };
            build.record(other, Stack::KIND, 0, &[stack.bytes()]);
        }
        let trace = read_bytes(&build.finish(), &mut |_| {});
        let rows = trace.tallies.ids().map(|tally| trace.tallies.row(tally));
        let mut said: Vec<_> = rows
            .map(|row| {
                let tid = trace.threads.tid[row.thread];
                (tid, row.kind.name(), trace.text(row.name), row.count, row.time)
            })
            .collect();
        said.sort_unstable();
        let expected = [
            (7, "call", "cuPointerGetAttribute", 5, 50),
            (7, "call", "cudaGetDevice", 13, 130),
            (7, "wait", "gil", 7, 1_000),
            (8, "recorder", "stacks of calls", 2, 2_000),
            (8, "wait", "gil", 1, 10),
        ];
        assert_eq!(said, expected);
    }
}
