//! Threads outside calls: on a processor, ready without one, or blocked, from the scheduler's numbers; where the trace has
//! none of a thread, from the ranges that a framework or an interpreter marked.
//!
//! The scheduler's numbers are sums over intervals of some milliseconds. Within one, time blocked belongs to the longest pauses
//! between calls: a thread that blocks makes a pause, a thread that only works between two launches makes short ones.

use super::activity::Activity;
use super::interpreters::Interpreters;
use super::segment::{Doing, Segment};
use crate::facts::Facts;
use crate::facts::index;
use trace::{CallId, Ns, Source, State, Sym, ThreadId, ThreadState, Times, Trace};

/// The shortest pause that is looked at by itself, ns. Frameworks spend 3 to 30 µs between two launches (PyTorch, H200).
pub(super) const PAUSE: Ns = 50_000;

/// A thread that waits for a processor for one in this many of its calls' time is looked at: a choice.
const CROWDED: Ns = 50;

/// A long stretch of a thread's time in no call and no recorded wait.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pause {
    pub start: Ns,
    pub end: Ns,
    /// The call that ended it; `NONE` at the thread's end, or where a recorded wait ended it.
    pub next: CallId,
    /// Time of it of which the scheduler's numbers are known, ns: blocked, ready without a processor, or running.
    pub known: Ns,
    pub blocked: Ns,
    pub runnable: Ns,
    /// The system call in which it was blocked for most of that time; empty if unknown.
    pub call: Sym,
    /// The time blocked in that call, ns.
    in_call: Ns,
    /// Whether all of the time blocked comes first.
    slept_first: bool,
}

impl Pause {
    /// A part of it, of which `known` ns are known: divided as the whole, and exact in sum.
    fn split(&self, of: &Segment, known: Ns) -> Shares {
        let length = of.length();
        let part = |ns: Ns| if known == self.known { ns } else { scaled(ns, known, self.known.max(1)) };
        let blocked = match self.slept_first {
            true => ((self.start + self.blocked).min(of.end) - of.start).clamp(0, known),
            false => part(self.blocked).min(known),
        };
        let runnable = part(self.runnable).min(known - blocked);
        Shares { blocked, runnable, running: known - blocked - runnable, unknown: length - known, locked: 0 }
    }
}

/// The system calls in which a program waits for what comes from outside, as a server does for requests.
const DEMAND: [&str; 8] =
    ["accept", "accept4", "epoll_wait", "epoll_pwait", "epoll_pwait2", "recvfrom", "recvmsg", "recvmmsg"];

/// Whether a thread that slept in a pause waited for what comes from outside.
pub(super) fn is_demand(trace: &Trace, pause: &Pause) -> bool {
    DEMAND.contains(&trace.text(pause.call))
}

/// How a stretch outside calls is divided, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Shares {
    pub blocked: Ns,
    pub runnable: Ns,
    pub running: Ns,
    pub unknown: Ns,
    /// In Python's code while another thread had Python's lock.
    pub locked: Ns,
}

/// `ns · part / whole`, rounded down; `whole` is positive.
pub(super) fn scaled(ns: Ns, part: Ns, whole: Ns) -> Ns {
    (i128::from(ns) * i128::from(part) / i128::from(whole)) as Ns
}

/// All threads outside calls.
pub(super) struct Outside {
    /// The pauses of each thread, in order.
    pauses: Vec<Vec<Pause>>,
    /// The times of each thread for which its rows or its ranges state what it did.
    known: Vec<Times>,
    /// The scheduler's intervals of each thread in which it was ready without a processor while in calls.
    crowded: Vec<Vec<Crowded>>,
    interpreters: Interpreters,
}

/// An interval of the scheduler's.
#[derive(Clone, Copy)]
struct Crowded {
    start: Ns,
    end: Ns,
    /// Time in calls that wait for no lock, ns.
    working: Ns,
    /// The part of it for which the thread was ready without a processor, ns.
    ready: Ns,
}

impl Outside {
    pub fn new(facts: &Facts<'_>, activity: &Activity<'_>, spans: &[(Ns, Ns)]) -> Outside {
        let rows = index::states_by_thread(facts.trace);
        let mut known = index::marked_by_thread(facts.trace);
        let is_scheduled: Vec<bool> = rows.iter().map(|rows| is_scheduled(rows)).collect();
        for ((known, rows), is_scheduled) in known.iter_mut().zip(&rows).zip(&is_scheduled) {
            let marked = known.intervals().iter().copied().filter(|_| !is_scheduled);
            *known = Times::of(rows.iter().map(|row| (row.start, row.end)).chain(marked));
        }
        // Other tools record each switch.
        let is_counted = facts.trace.meta.source == Source::HOLDUP.id;
        let filled = facts.trace.threads.ids().zip(rows).map(|(thread, rows)| {
            let (first, last) = spans[thread.index()];
            let mut filled = Filling::new(if is_counted { exact(&rows) } else { rows });
            activity.walk(thread, first, last, |segment| filled.add(segment, activity.blocks(segment.doing)));
            filled.done()
        });
        let (pauses, crowded) = filled.unzip();
        let interpreters = Interpreters::of(facts.trace);
        let mut outside = Outside { pauses, known, crowded, interpreters };
        let users = index::user_ranges_by_thread(facts.trace);
        for thread in facts.trace.threads.ids().filter(|thread| !is_scheduled[thread.index()]) {
            outside.set_marked(thread, &users[thread.index()]);
        }
        outside
    }

    /// Takes a thread's marked ranges for what is known of its pauses: it ran. Of the ranges of the program's own, `users`, by start, those
    /// tell what it did that lie within a pause.
    fn set_marked(&mut self, thread: ThreadId, users: &[(Ns, Ns)]) {
        let (known, pauses) = (&mut self.known[thread.index()], &mut self.pauses[thread.index()]);
        let within = |user: &&(Ns, Ns)| {
            let next = pauses.partition_point(|pause| pause.end < user.1);
            pauses.get(next).is_some_and(|pause| pause.start <= user.0)
        };
        let marked: Vec<(Ns, Ns)> = users.iter().filter(within).copied().collect();
        if !marked.is_empty() {
            *known = Times::of(known.intervals().iter().copied().chain(marked));
        }
        pauses.iter_mut().for_each(|pause| pause.known = known.part(pause.start, pause.end));
    }

    /// Lets what is known of a thread's pause be time blocked.
    pub fn set_blocked(&mut self, thread: ThreadId, pause: usize) {
        let pause = &mut self.pauses[thread.index()][pause];
        pause.blocked = pause.known;
    }

    pub fn pauses(&self, thread: ThreadId) -> &[Pause] {
        &self.pauses[thread.index()]
    }

    /// Lets the thread be awake at the end of a pause, and not sooner than `slept` ns after its start.
    pub fn set_slept_first(&mut self, thread: ThreadId, pause: usize, slept: Ns) {
        let pause = &mut self.pauses[thread.index()][pause];
        (pause.blocked, pause.slept_first) = (slept.min(pause.known), true);
        pause.runnable = pause.runnable.min(pause.known - pause.blocked);
    }

    /// The pause that a segment outside calls is a part of; `None` for a shorter one.
    pub fn pause(&self, thread: ThreadId, segment: &Segment) -> Option<&Pause> {
        self.pause_at(thread, segment).map(|at| &self.pauses[thread.index()][at])
    }

    /// The number of that pause.
    pub fn pause_at(&self, thread: ThreadId, segment: &Segment) -> Option<usize> {
        let pauses = &self.pauses[thread.index()];
        let at = pauses.partition_point(|pause| pause.end <= segment.start);
        let is_whole = |pause: &Pause| pause.start <= segment.start && segment.end <= pause.end;
        pauses.get(at).filter(|pause| is_whole(pause)).map(|_| at)
    }

    /// The part of a segment in a call for which the thread was ready without a processor, ns: as much of it as of all its
    /// calls in the scheduler's interval.
    pub fn ready_in_call(&self, thread: ThreadId, segment: &Segment) -> Ns {
        let of = |row: &Crowded, length: Ns| scaled(row.ready, length, row.working.max(length).max(1));
        self.ready(thread, segment, of)
    }

    /// Like [`Outside::ready_in_call`], but where the thread polls for what is done already: of the time in its calls without a
    /// processor, this comes first.
    pub fn ready_in_sync(&self, thread: ThreadId, segment: &Segment) -> Ns {
        self.ready(thread, segment, |row, length| row.ready.min(length))
    }

    /// The sum over the scheduler's intervals in a segment of what each has, by its length in the segment, ns.
    fn ready(&self, thread: ThreadId, segment: &Segment, of: impl Fn(&Crowded, Ns) -> Ns) -> Ns {
        let rows = &self.crowded[thread.index()];
        let first = rows.partition_point(|row| row.end <= segment.start);
        let within = rows[first..].iter().take_while(|row| row.start < segment.end);
        let ready = within.map(|row| of(row, row.end.min(segment.end) - row.start.max(segment.start)));
        ready.sum::<Ns>().min(segment.length())
    }

    /// How a segment outside calls is divided. One that is no pause is the program's own work between two calls.
    pub fn shares(&self, thread: ThreadId, segment: &Segment) -> Shares {
        let known = self.known[thread.index()].part(segment.start, segment.end);
        let shares = match self.pause(thread, segment) {
            Some(pause) => pause.split(segment, known),
            // Too short for a thread to have slept and been woken.
            None => Shares { running: segment.length(), ..Shares::default() },
        };
        let locked = self.interpreters.waited(thread, segment.start, segment.end).min(shares.running);
        Shares { running: shares.running - locked, locked, ..shares }
    }
}

/// Whether a thread's rows are the scheduler's. Others are of calls in which it slept alone, and say nothing of the time between these.
fn is_scheduled(rows: &[State]) -> bool {
    rows.iter().any(|row| matches!(row.state, ThreadState::Running | ThreadState::Runnable))
}

/// The scheduler's intervals between moments at which its numbers are exact: when the thread was seen blocked.
///
/// The kernel counts a thread that runs late, so rows that end while it runs have time of each other. A thread that slept and
/// polled for 5 ms each had 94 % of its sleep by such rows alone. Several of them are one interval.
fn exact(rows: &[State]) -> Vec<State> {
    /// The longest interval that is made of several, ns: a choice. Late is at most what lies between two looks, 10 ms.
    const LONGEST: Ns = 100_000_000;
    let mut exact = Vec::<State>::with_capacity(rows.len());
    for row in rows {
        let goes_on = |last: &&mut State| {
            let ran = matches!(last.state, ThreadState::Running | ThreadState::Runnable);
            ran && last.end == row.start && row.end - last.start <= LONGEST
        };
        match exact.last_mut().filter(goes_on) {
            Some(last) => {
                *last = State {
                    start: last.start,
                    running: last.running + row.running,
                    runnable: last.runnable + row.runnable,
                    ..*row
                };
            }
            None => exact.push(*row),
        }
    }
    exact
}

/// A part of a pause in one of the scheduler's intervals.
struct Fragment {
    row: usize,
    pause: usize,
    length: Ns,
}

/// Divides the scheduler's intervals of one thread among what it did.
struct Filling {
    rows: Vec<State>,
    /// The part of each row outside calls and waits, ns.
    outside: Vec<Ns>,
    /// The part in calls that wait for no lock, ns.
    working: Vec<Ns>,
    /// The part in waits that block, ns.
    waiting: Vec<Ns>,
    /// The time that each row counts as blocked and for which the thread was blocked in the row before, ns.
    late: Vec<Ns>,
    /// The first row that does not end before the present segment.
    next: usize,
    pauses: Vec<Pause>,
    fragments: Vec<Fragment>,
}

impl Filling {
    fn new(rows: Vec<State>) -> Filling {
        let none = || vec![0; rows.len()];
        Filling {
            outside: none(),
            working: none(),
            waiting: none(),
            late: none(),
            rows,
            next: 0,
            pauses: Vec::new(),
            fragments: Vec::new(),
        }
    }

    fn add(&mut self, segment: Segment, blocks: bool) {
        let is_pause = matches!(segment.doing, Doing::Outside(_)) && segment.length() >= PAUSE;
        if let (Doing::Outside(next), true) = (segment.doing, is_pause) {
            let Segment { start, end, .. } = segment;
            let (known, blocked, runnable, in_call) = (0, 0, 0, 0);
            self.pauses.push(Pause {
                start,
                end,
                next,
                known,
                blocked,
                runnable,
                call: Sym::default(),
                in_call,
                slept_first: false,
            });
        }
        while self.rows.get(self.next).is_some_and(|row| row.end <= segment.start) {
            self.next += 1;
        }
        for (row, state) in self.rows.iter().enumerate().skip(self.next) {
            if state.start >= segment.end {
                break;
            }
            let length = state.end.min(segment.end) - state.start.max(segment.start);
            match segment.doing {
                Doing::Outside(_) => self.outside[row] += length,
                _ if blocks => self.waiting[row] += length,
                Doing::Lost(_) | Doing::Working(_) | Doing::Waiting(_) => self.working[row] += length,
            }
            if is_pause {
                self.fragments.push(Fragment { row, pause: self.pauses.len() - 1, length });
            }
        }
    }

    /// The pauses, with each row's times given to its longest fragments, and the rows that were crowded.
    fn done(mut self) -> (Vec<Pause>, Vec<Crowded>) {
        self.set_late();
        let crowded = (0..self.rows.len()).filter_map(|row| self.crowded(row)).collect();
        self.fragments.sort_by_key(|fragment| (fragment.row, std::cmp::Reverse(fragment.length)));
        let fragments = std::mem::take(&mut self.fragments);
        for fragments in fragments.chunk_by(|a, b| a.row == b.row) {
            let (mut blocked, mut runnable) = self.outside_of(fragments[0].row);
            let call = self.rows[fragments[0].row].call;
            for fragment in fragments {
                let pause = &mut self.pauses[fragment.pause];
                let sleeps = blocked.min(fragment.length);
                let waits = runnable.min(fragment.length - sleeps);
                (blocked, runnable) = (blocked - sleeps, runnable - waits);
                pause.known += fragment.length;
                pause.blocked += sleeps;
                pause.runnable += waits;
                if sleeps > pause.in_call && !call.is_empty() {
                    (pause.call, pause.in_call) = (call, sleeps);
                }
            }
        }
        (self.pauses, crowded)
    }

    /// Sets what each row has of the time for which the thread was blocked in the row before. The kernel counts a running
    /// thread late, so a row that ends while the thread runs can have less time off a processor than its waits took.
    fn set_late(&mut self) {
        for next in 1..self.rows.len() {
            let State { end, state, .. } = self.rows[next - 1];
            let ran = matches!(state, ThreadState::Running | ThreadState::Runnable);
            if ran && end == self.rows[next].start {
                self.late[next] = (-self.asleep_outside(next - 1)).max(0);
            }
        }
    }

    /// Time of a row in calls without a processor; `None` if it is little.
    fn crowded(&self, row: usize) -> Option<Crowded> {
        let State { start, end, runnable, .. } = self.rows[row];
        let working = self.working[row];
        let ready = (runnable - self.outside_of(row).1).min(working);
        (ready * CROWDED > working).then_some(Crowded { start, end, working, ready })
    }

    /// How long the thread was blocked, and ready without a processor, outside calls and waits in a row, ns.
    fn outside_of(&self, row: usize) -> (Ns, Ns) {
        let State { running, runnable, .. } = self.rows[row];
        let outside = self.outside[row];
        let blocked = self.asleep_outside(row).clamp(0, outside);
        // Waits for a processor come wherever the thread could run.
        let awake = (running + runnable).max(1);
        let ready = scaled(runnable, outside - blocked, awake).min(outside - blocked);
        (blocked, ready)
    }

    /// How long the thread was neither on a processor nor ready in a row, less its waits and its sleep in calls, ns: negative
    /// where the next row has the rest.
    fn asleep_outside(&self, row: usize) -> Ns {
        let State { start, end, running, runnable, .. } = self.rows[row];
        let asleep = end - start - running - runnable;
        // A thread that waits for the GPU in a call polls, unless the program asked it not to.
        let asleep_in_calls = self.working[row] - self.working[row].min(running);
        asleep - self.waiting[row] - asleep_in_calls - self.late[row]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_end_where_the_thread_was_seen_blocked() {
        use ThreadState::{Blocked, Running};
        let row = |start, end, running, state| State { start, end, running, state, ..State::default() };
        let rows = [
            row(0, 10, 10, Running),
            row(10, 20, 4, Blocked),
            row(20, 30, 0, Blocked),
            row(30, 40, 9, Running),
            // Nothing is known from 40 to 45.
            row(45, 50, 5, Running),
        ];
        let expected = [
            row(0, 20, 14, Blocked),
            row(20, 30, 0, Blocked),
            row(30, 40, 9, Running),
            row(45, 50, 5, Running),
        ];
        assert_eq!(exact(&rows), expected);
    }
}
