//! A thread's time from what the kernel counts: rows that do not overlap and whose sums are the kernel's.
//!
//! The kernel counts a thread's time on a processor when it leaves it, and at each tick; the time that it was ready
//! without one, when it gets one. So the counters of a thread that is ready lag behind, and the row of such a thread
//! ends where its counters end. Those of a blocked thread are exact: what they do not have of the time is blocked.
//! Counters that changed since the look before were exact at some time since then: what they do not have of the time
//! before that look is blocked, too. Without this a thread that blocks for 1.5 ms of each 9 ms, and is ready at each look,
//! has rows that begin up to 60 ms late and then one of all that it was blocked.

use spool::Run;

/// Values read of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskReading {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at: i64,
    /// Time on a processor so far, ns.
    pub running: i64,
    /// Time ready without a processor so far, ns.
    pub runnable: i64,
    /// Activity of the thread.
    pub place: Place,
}

/// Activity of a thread, and the system call it is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Place {
    /// Whether it has a processor; [`Run::Ready`] also stands for a thread of which this is unknown.
    pub state: Run,
    /// The number of the system call that it is blocked in.
    pub call: Option<i64>,
    /// The call's first argument; of one that opens a file, its flags.
    pub object: u64,
}

/// A part of a thread's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Start, ns.
    pub start: i64,
    /// End, ns.
    pub end: i64,
    /// On a processor within it, ns.
    pub running: i64,
    /// Ready without one within it, ns.
    pub runnable: i64,
    /// At the end.
    pub place: Place,
}

/// How the rows of a thread change by a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The last row is now this one.
    Last(Row),
    /// There is a further row.
    Next(Row),
}

/// The account of one thread.
#[derive(Debug)]
pub struct Account {
    /// Where the next row starts.
    start: i64,
    /// The counters there.
    running: i64,
    runnable: i64,
    /// The look before.
    seen: TaskReading,
    last: Option<Row>,
}

impl Row {
    fn blocked(&self) -> i64 {
        self.end - self.start - self.running - self.runnable
    }

    /// Whether the thread did the same thing all the time.
    fn is_pure(&self) -> bool {
        [self.running, self.runnable, self.blocked()].contains(&(self.end - self.start))
    }

    /// The row of both, if this one and the one behind it say the same of all their time.
    fn joined(&self, next: &Row) -> Option<Row> {
        let [same_running, same_runnable, same_blocked] = [
            self.runnable + self.blocked() + next.runnable + next.blocked() == 0,
            self.running + self.blocked() + next.running + next.blocked() == 0,
            self.running + self.runnable + next.running + next.runnable == 0 && self.place == next.place,
        ];
        let same = same_running || same_runnable || same_blocked;
        (self.end == next.start && self.is_pure() && next.is_pure() && same).then_some(Row {
            start: self.start,
            end: next.end,
            running: self.running + next.running,
            runnable: self.runnable + next.runnable,
            place: next.place,
        })
    }
}

impl Account {
    /// The account of a thread that is counted from this look on.
    pub fn from(look: &TaskReading) -> Account {
        Account { start: look.at, running: look.running, runnable: look.runnable, seen: *look, last: None }
    }

    /// The account of a thread that began after `since`: all that it counted so far lies before this look.
    pub fn of_new(look: &TaskReading, since: i64) -> Account {
        let lived = look.running.saturating_add(look.runnable);
        let start = look.at.saturating_sub(lived).max(since.min(look.at));
        Account {
            start,
            running: 0,
            runnable: 0,
            seen: TaskReading { at: start, ..TaskReading::default() },
            last: None,
        }
    }

    /// Where its rows end, and the kernel's counters there.
    pub fn end(&self) -> TaskReading {
        TaskReading { at: self.start, running: self.running, runnable: self.runnable, place: self.seen.place }
    }

    /// Calls `change` for each change of the thread's rows.
    pub fn look(&mut self, look: &TaskReading, change: &mut dyn FnMut(Change)) {
        // A counter that goes back is of another thread, or wrong: nothing is counted until it is beyond again.
        let running = look.running.saturating_sub(self.running).max(0);
        let runnable = look.runnable.saturating_sub(self.runnable).max(0);
        let counted = running.saturating_add(runnable);
        self.take_back(counted.saturating_sub(look.at - self.start), change);
        let time = (look.at - self.start).max(0);
        // What is beyond the time that passed is left for the next row.
        let running = running.min(time);
        let runnable = runnable.min(time - running);
        let is_ready = matches!(look.place.state, Run::Running | Run::Ready);
        let changed = (look.running, look.runnable) != (self.seen.running, self.seen.runnable);
        let exact = if changed { self.seen.at } else { self.start };
        let end = if is_ready { exact.max(self.start + running + runnable) } else { look.at };
        self.seen = *look;
        if end > self.start {
            let place = Place { state: state(look.place.state, running), ..look.place };
            self.push(Row { start: self.start, end, running, runnable, place }, change);
        }
    }

    /// The last row's blocked time may have ended before the look that saw it, because the thread was ready again: its
    /// counters then have more time than has passed since.
    fn take_back(&mut self, excess: i64, change: &mut dyn FnMut(Change)) {
        let Some(last) = self.last.as_mut().filter(|last| last.end == self.start && excess > 0) else {
            return;
        };
        let back = excess.min(last.blocked());
        if back > 0 {
            last.end -= back;
            self.start -= back;
            change(Change::Last(*last));
        }
    }

    fn push(&mut self, row: Row, change: &mut dyn FnMut(Change)) {
        self.start = row.end;
        self.running += row.running;
        self.runnable += row.runnable;
        let joined = self.last.as_ref().and_then(|last| last.joined(&row));
        self.last = Some(joined.unwrap_or(row));
        change(joined.map_or(Change::Next(row), Change::Last));
    }
}

/// Whether a ready thread has a processor: one that was not counted to run did not lately.
fn state(state: Run, running: i64) -> Run {
    match state {
        Run::Running | Run::Ready if running > 0 => Run::Running,
        Run::Running | Run::Ready => Run::Ready,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FUTEX: Place = Place { state: Run::Blocked, call: Some(202), object: 0x1000 };
    const READY: Place = Place { state: Run::Ready, call: None, object: 0 };

    fn rows(mut account: Account, looks: &[TaskReading]) -> Vec<Row> {
        let mut rows = Vec::new();
        for look in looks {
            account.look(look, &mut |change| match change {
                Change::Next(row) => rows.push(row),
                Change::Last(row) => *rows.last_mut().expect("there is one") = row,
            });
        }
        rows
    }

    fn look(at: i64, running: i64, runnable: i64, place: Place) -> TaskReading {
        TaskReading { at, running, runnable, place }
    }

    fn row(start: i64, end: i64, running: i64, runnable: i64, place: Place) -> Row {
        Row { start, end, running, runnable, place }
    }

    #[test]
    fn a_burner_runs_all_the_time_though_its_counter_lags() {
        let account = Account::from(&look(0, 0, 0, READY));
        let looks = [look(10, 6, 0, READY), look(20, 20, 0, READY), look(30, 26, 0, READY)];
        let running = Place { state: Run::Running, ..READY };
        assert_eq!(rows(account, &looks), [row(0, 26, 26, 0, running)]);
    }

    #[test]
    fn a_thread_without_a_processor_is_ready_once_the_kernel_has_counted_it() {
        let account = Account::from(&look(0, 0, 0, READY));
        let looks = [look(10, 0, 0, READY), look(20, 0, 0, READY), look(30, 3, 25, READY)];
        let running = Place { state: Run::Running, ..READY };
        assert_eq!(rows(account, &looks), [row(0, 28, 3, 25, running)]);
    }

    #[test]
    fn the_same_wait_is_one_row() {
        let account = Account::from(&look(0, 5, 5, FUTEX));
        let other = Place { object: 0x2000, ..FUTEX };
        let looks =
            [look(10, 5, 5, FUTEX), look(20, 5, 5, FUTEX), look(30, 7, 5, FUTEX), look(40, 7, 5, other)];
        let expected = [row(0, 20, 0, 0, FUTEX), row(20, 30, 2, 0, FUTEX), row(30, 40, 0, 0, other)];
        assert_eq!(rows(account, &looks), expected);
    }

    #[test]
    fn a_wait_ended_when_the_thread_was_ready_again_not_when_it_was_seen() {
        // It looked blocked at 20, but was ready from 15 on and ran from 28 on.
        let account = Account::from(&look(0, 0, 0, FUTEX));
        let looks = [look(10, 0, 0, FUTEX), look(20, 0, 0, FUTEX), look(30, 2, 13, READY)];
        let running = Place { state: Run::Running, ..READY };
        assert_eq!(rows(account, &looks), [row(0, 15, 0, 0, FUTEX), row(15, 30, 2, 13, running)]);
    }

    #[test]
    fn what_a_ready_thread_was_blocked_is_in_the_rows_of_its_time() {
        // It runs for 7 of each 9, and is ready at each look: its counters seem to lag, but not by more than a look.
        let account = Account::from(&look(0, 0, 0, READY));
        let looks: Vec<TaskReading> = (1..9).map(|at| look(9 * at, 7 * at, 0, READY)).collect();
        let running = Place { state: Run::Running, ..READY };
        let found = rows(account, &looks);
        let expected = [(0, 28, 28), (28, 36, 7), (36, 45, 7), (45, 54, 7), (54, 63, 7)];
        assert_eq!(found, expected.map(|(start, end, ran)| row(start, end, ran, 0, running)));
    }

    #[test]
    fn a_new_thread_began_no_earlier_than_it_was_counted() {
        let account = Account::of_new(&look(100, 3, 1, FUTEX), 90);
        assert_eq!(rows(account, &[look(100, 3, 1, FUTEX)]), [row(96, 100, 3, 1, FUTEX)]);
        let account = Account::of_new(&look(100, 30, 1, FUTEX), 90);
        assert_eq!(rows(account, &[look(100, 30, 1, FUTEX)]), [row(90, 100, 10, 0, FUTEX)]);
    }

    /// A thread's life: pieces of running, ready, blocked; and looks at it whose counters lag as the kernel's do.
    fn life() -> impl Strategy<Value = Vec<(u8, i64)>> {
        proptest::collection::vec((0..3u8, 1..30i64), 1..60)
    }

    /// Values that the kernel shows at a time: ticks every four, run delay on arrival, and the state.
    fn seen(life: &[(u8, i64)], at: i64) -> TaskReading {
        let (mut time, mut running, mut runnable) = (0, 0, 0);
        for (kind, length) in life {
            let inside = at < time + length;
            let lived = if inside { at - time } else { *length };
            match kind {
                0 if inside => running += (time + lived) / 4 * 4 - time.min((time + lived) / 4 * 4),
                0 => running += length,
                1 if !inside => runnable += length,
                _ => {}
            }
            if inside {
                return look(at, running, runnable, if *kind == 2 { FUTEX } else { READY });
            }
            time += length;
        }
        look(at, running, runnable, FUTEX)
    }

    proptest! {
        #[test]
        fn sums_are_the_kernels(life in life(), steps in proptest::collection::vec(1..12i64, 1..80)) {
            // A piece of waiting for a processor is followed by running, as the kernel counts it then.
            let life: Vec<(u8, i64)> =
                life.into_iter().flat_map(|(kind, length)| if kind == 1 { vec![(1, length), (0, 3)] } else { vec![(kind, length)] }).collect();
            let mut at = 0;
            let mut looks = vec![seen(&life, 0)];
            for step in steps {
                at += step;
                looks.push(seen(&life, at));
            }
            // At the end, it is blocked for long.
            let whole: i64 = life.iter().map(|(_, length)| length).sum();
            let end = at.max(whole) + 100;
            looks.push(seen(&life, end));
            let found = rows(Account::from(&looks[0]), &looks[1..]);
            let [running, runnable, blocked] = [0, 1, 2].map(|which| life.iter().filter(|(kind, _)| *kind == which).map(|(_, length)| length).sum::<i64>());
            prop_assert_eq!(found.iter().map(|row| row.running).sum::<i64>(), running);
            prop_assert_eq!(found.iter().map(|row| row.runnable).sum::<i64>(), runnable);
            prop_assert_eq!(found.iter().map(|row| row.blocked()).sum::<i64>(), blocked + end - whole);
            prop_assert!(found.is_sorted_by(|a, b| a.end <= b.start));
        }

        #[test]
        fn no_counters_are_too_strange(looks in proptest::collection::vec((0..50i64, 0..1i64 << 61, 0..1i64 << 61, 0..3u8), 1..30)) {
            let mut at = 0;
            let looks: Vec<TaskReading> = looks.into_iter().map(|(step, running, runnable, kind)| {
                at += step;
                look(at, running, runnable, if kind == 0 { READY } else { FUTEX })
            }).collect();
            let found = rows(Account::from(&looks[0]), &looks[1..]);
            for row in &found {
                prop_assert!(row.start < row.end && row.end <= at && row.running >= 0 && row.runnable >= 0 && row.blocked() >= 0);
            }
            prop_assert!(found.is_sorted_by(|a, b| a.end <= b.start));
        }
    }
}
