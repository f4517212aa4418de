//! Activity of threads between the last look at them and their end. The process's own file says when a thread ended and what
//! the kernel had counted of it, the one beside it the same of the last look.

use super::state::Process;
use super::state::endings::LastLook;
use spool::ThreadEnd;
use trace::{Ns, State, Sym, ThreadState};

impl Process<'_, '_> {
    /// Keeps how a thread ended.
    pub(super) fn thread_end(&mut self, end: ThreadEnd) {
        if self.valid_tid(end.tid) != 0 {
            self.endings.ends.push(end);
        }
    }

    /// Adds the last state of each thread that said how it ended; how long they ran within these, ns. `all_known`: the file
    /// beside the process's own has every thread that a look found.
    pub(super) fn end_threads(&mut self, all_known: bool) -> Ns {
        let endings = std::mem::take(&mut self.endings);
        let mut found: Ns = 0;
        for end in &endings.ends {
            let seen = endings.last_look(end, all_known);
            let Some(row) = seen.and_then(|seen| self.last_state(end, seen)) else { continue };
            found = found.saturating_add(row.running);
            self.all.trace.states.push(row);
        }
        found
    }

    /// The part of a thread's life that no look saw.
    fn last_state(&mut self, end: &ThreadEnd, seen: Option<&LastLook>) -> Option<State> {
        let ThreadEnd { at, running: ran, runnable: was_ready, tid } = *end;
        let tid = u32::try_from(tid).ok()?;
        let before = seen.copied().unwrap_or_default();
        let running = ran.checked_sub(before.running).filter(|_| ran >= 0)?.max(0);
        let runnable = was_ready.checked_sub(before.runnable).filter(|_| was_ready >= 0)?.max(0);
        // Of one that no look saw, nobody knows when it began: it is known to have lived for as long as it ran and was ready.
        let start = seen.map_or_else(|| at.saturating_sub(running).saturating_sub(runnable), |left| left.at);
        let (start, end) = self.times(start, at).filter(|(start, end)| start < end)?;
        let running = running.min(end - start);
        Some(State {
            start,
            end,
            thread: self.thread(tid),
            running,
            runnable: runnable.min(end - start - running),
            // It ran when it said so.
            state: ThreadState::Running,
            call: Sym::default(),
            object: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbolizer::NoSymbols;
    use super::super::{Contents, gather};
    use super::*;
    use spool::{Build, Call, Left, Level, Run};

    const OTHER: u32 = 101;
    const LEFT: Left = Left { at: 5_000, running: 2_000, runnable: 500, gone: 12_000, tid: 101 };
    const END: ThreadEnd = ThreadEnd { at: 9_000, running: 4_500, runnable: 700, tid: 101 };

    /// The states of a thread that ends so, and was seen so.
    fn states(end: ThreadEnd, left: &[Left], killed: bool) -> Vec<State> {
        let mut own = Build::new(100, Level::Light);
        let name = own.text(OTHER, "cuLaunchKernel");
        own.record(OTHER, Call::KIND, name, &[Call { start: 0, end: 500, ..Call::default() }.bytes()]);
        own.record(OTHER, ThreadEnd::KIND, 0, &[end.bytes()]);
        let mut beside = Build::new(100, Level::Light);
        for left in left {
            let state = spool::State {
                start: left.at - 3_000,
                end: left.at,
                running: 2_000,
                runnable: 500,
                tid: OTHER,
                state: Run::Running as u32,
                object: 0,
            };
            beside.record(0, spool::State::KIND, 0, &[state.bytes()]);
            beside.record(0, Left::KIND, 0, &[left.bytes()]);
        }
        if killed {
            beside.set(std::mem::offset_of!(spool::FileHeader, finished), &0_u32.to_ne_bytes());
        }
        let (own, beside) = (own.finish(), beside.finish());
        let contents = Contents { name: "100-0.spool".to_owned(), bytes: &own, beside: Some(&beside) };
        let trace = gather(&[contents], None, &mut NoSymbols, &mut |_| {});
        trace.states.ids().map(|id| trace.states.row(id)).collect()
    }

    fn last(states: &[State]) -> (Ns, Ns, Ns, Ns) {
        let last = states.last().expect("a state");
        (last.start, last.end, last.running, last.runnable)
    }

    #[test]
    fn the_last_state_reaches_from_the_last_look_to_the_end() {
        let found = states(END, &[LEFT], false);
        assert_eq!((found.len(), last(&found)), (2, (5_000, 9_000, 2_500, 200)));
    }

    #[test]
    fn a_thread_that_no_look_found_lived_as_long_as_it_ran() {
        assert_eq!(last(&states(END, &[], false)), (3_800, 9_000, 4_500, 700));
        // Unless the looks at it may be lost.
        assert_eq!(states(END, &[], true).len(), 0);
    }

    #[test]
    fn an_end_belongs_to_the_looks_before_it() {
        let earlier = Left { at: 3_100, gone: 4_000, ..LEFT };
        assert_eq!(last(&states(END, &[earlier, LEFT], false)).0, 5_000);
        // Recording ended before the thread.
        assert_eq!(states(END, &[Left { gone: 8_000, ..LEFT }], false).len(), 1);
    }

    #[test]
    fn counters_that_are_unknown_or_wrong_add_no_time() {
        for end in [ThreadEnd { running: -1, ..END }, ThreadEnd { runnable: -1, ..END }] {
            assert_eq!(states(end, &[LEFT], false).len(), 1);
        }
        let beyond = ThreadEnd { running: i64::MAX, ..END };
        assert_eq!(last(&states(beyond, &[LEFT], false)), (5_000, 9_000, 4_000, 0));
        let back = ThreadEnd { running: 0, runnable: 0, ..END };
        assert_eq!(last(&states(back, &[LEFT], false)), (5_000, 9_000, 0, 0));
    }
}
