//! Lets the threads of a workload meet, to see whether any waits for ever: with every thread of a barrier needed at every
//! meeting, who waits for whom does not depend on how fast anybody is.
//!
//! Rounds that would only repeat what came before are skipped: when all threads are where they were before, except for the
//! remaining rounds of some of their loops, the same happens again until one of these loops is in its last round.

use super::meetings::{Meeting, ThreadMeetings, counted, name};
use crate::error::{Checked, Place, Problem};
use crate::model::*;

/// The most meetings to execute, without those in skipped rounds.
const MOST_TRIED: u64 = 1 << 20;

/// A list of meetings that a thread executes.
#[derive(Clone)]
struct Level<'m> {
    meetings: &'m [Meeting],
    row: usize,
    /// The current round and the remaining ones.
    rounds: u64,
    /// Distinguishes it from another execution of the same list.
    number: u64,
}

/// Where a thread is among its meetings: lists within lists.
#[derive(Clone)]
struct Cursor<'m> {
    stack: Vec<Level<'m>>,
    /// Number of lists that it has entered.
    entered: u64,
}

impl<'m> Cursor<'m> {
    fn new(meetings: &'m [Meeting]) -> Cursor<'m> {
        Cursor { stack: vec![Level { meetings, row: 0, rounds: 1, number: 0 }], entered: 1 }
    }

    /// The next meeting.
    fn next(&mut self) -> Option<(BarrierId, &'m Place)> {
        loop {
            let level = self.stack.last_mut()?;
            match level.meetings.get(level.row) {
                Some(Meeting::At { barrier, place }) => {
                    level.row += 1;
                    return Some((*barrier, place));
                }
                Some(Meeting::Loop { times, meetings }) => {
                    level.row += 1;
                    self.stack.push(Level { meetings, row: 0, rounds: *times, number: self.entered });
                    self.entered += 1;
                }
                None if level.rounds > 1 => (level.row, level.rounds) = (0, level.rounds - 1),
                None => {
                    self.stack.pop();
                }
            }
        }
    }

    /// How often this thread's loops can repeat what happened since `before`; `None` if the thread is not where it was.
    fn repeats(&self, before: &Cursor<'m>) -> Option<u64> {
        if self.stack.len() != before.stack.len() {
            return None;
        }
        let pairs = self.stack.iter().zip(&before.stack);
        pairs
            .map(|(level, before)| level.repeats(before))
            .try_fold(u64::MAX, |least, own| Some(least.min(own?)))
    }

    /// Continues as if what happened since `before` had happened so many more times.
    fn skip(&mut self, before: &Cursor<'m>, times: u64) {
        for (level, before) in self.stack.iter_mut().zip(&before.stack) {
            if level.number == before.number {
                level.rounds -= (before.rounds - level.rounds) * times;
            }
        }
    }
}

impl Level<'_> {
    /// As for a [`Cursor`], while a loop that continues is not in its last round.
    fn repeats(&self, before: &Level<'_>) -> Option<u64> {
        let is_there = std::ptr::eq(self.meetings, before.meetings) && self.row == before.row;
        let done = before.rounds.checked_sub(self.rounds)?;
        match (is_there, self.number == before.number, done) {
            (true, _, 0) => Some(u64::MAX),
            (true, true, done) => Some((self.rounds - 1) / done),
            _ => None,
        }
    }
}

/// The remaining meetings of a thread in a part of the run.
#[derive(Clone)]
struct Way<'m> {
    /// Meetings in its body; `None` after the body.
    body: Option<Cursor<'m>>,
    /// Meetings after it.
    after: Cursor<'m>,
    /// The barrier where it waits, if it does.
    waits: Option<(BarrierId, &'m Place)>,
}

impl<'m> Way<'m> {
    fn new(body: Option<Cursor<'m>>, after: &'m [Meeting]) -> Way<'m> {
        Way { body, after: Cursor::new(after), waits: None }
    }

    /// As for a [`Cursor`].
    fn repeats(&self, before: &Way<'m>) -> Option<u64> {
        let body = match (&self.body, &before.body) {
            (Some(own), Some(before)) => own.repeats(before)?,
            (None, None) => u64::MAX,
            _ => return None,
        };
        let barrier = |way: &Way<'_>| way.waits.map(|(barrier, _)| barrier);
        if barrier(self) != barrier(before) {
            return None;
        }
        Some(body.min(self.after.repeats(&before.after)?))
    }

    fn skip(&mut self, before: &Way<'m>, times: u64) {
        if let Some((own, before)) = self.body.as_mut().zip(before.body.as_ref()) {
            own.skip(before, times);
        }
        self.after.skip(&before.after, times);
    }
}

/// Where all threads were at some time. A new time is chosen after 1, 2, 4 … meetings, so that every repetition fits between
/// two of them.
#[derive(Default)]
struct Before<'m> {
    ways: Vec<Way<'m>>,
    /// The thread that met last.
    came: usize,
    /// Meetings since then, and until the next choice.
    since: u64,
    most: u64,
}

impl<'m> Before<'m> {
    /// A thread meets others: skips what happened since then if it repeats. Returns whether it does. `tried` counts the meetings
    /// so far and the cost of comparing: recording where a thread is costs as much as a meeting.
    fn skips(&mut self, ways: &mut [Way<'m>], came: usize, tried: &mut u64) -> bool {
        let times = if came == self.came { self.repeats(ways, came) } else { None };
        // Without a loop that continues, every meeting is a different one.
        let times = times.filter(|times| (1..u64::MAX).contains(times));
        if let Some(times) = times {
            ways.iter_mut().zip(&self.ways).for_each(|(way, before)| way.skip(before, times));
        }
        self.since += 1;
        if self.since > self.most {
            *self = Before { ways: ways.to_vec(), came, since: 0, most: (2 * self.most).max(1) };
            *tried += ways.len() as u64;
        }
        times.is_some()
    }

    /// How often everything that happened since then can repeat.
    fn repeats(&self, ways: &[Way<'m>], came: usize) -> Option<u64> {
        // Usually this thread is the one that is elsewhere.
        ways.get(came)?.repeats(self.ways.get(came)?)?;
        let pairs = ways.iter().zip(&self.ways);
        pairs.map(|(way, before)| way.repeats(before)).try_fold(u64::MAX, |least, own| Some(least.min(own?)))
    }
}

/// Executes the meetings of all threads.
pub struct Order<'m> {
    workload: &'m Workload,
    threads: &'m [ThreadMeetings],
    /// The threads that wait at each barrier.
    there: Vec<Vec<usize>>,
    /// Meetings so far, and the cost of finding repetitions.
    tried: u64,
}

impl<'m> Order<'m> {
    pub fn new(workload: &'m Workload, threads: &'m [ThreadMeetings]) -> Order<'m> {
        Order { workload, threads, there: vec![Vec::new(); workload.barriers.len()], tried: 0 }
    }

    /// First everything before the bodies, then the bodies and the steps after each.
    pub fn run(&mut self) -> Checked {
        let before = |thread: &'m ThreadMeetings| Way::new(None, &thread.before);
        self.meet(self.threads.iter().map(before).collect(), &[])?;
        let timed = |thread: &'m ThreadMeetings| {
            Way::new((!thread.waits_for_others).then(|| Cursor::new(&thread.body)), &thread.after)
        };
        let late = |at: &usize| self.threads[*at].waits_for_others;
        let late: Vec<usize> = (0..self.threads.len()).filter(late).collect();
        self.meet(self.threads.iter().map(timed).collect(), &late)
    }

    /// Executes all threads, those of `late` after the bodies of all others.
    fn meet(&mut self, mut ways: Vec<Way<'m>>, late: &[usize]) -> Checked {
        let mut bodies = ways.iter().filter(|way| way.body.is_some()).count();
        let mut ready: Vec<usize> = (0..ways.len()).filter(|at| !late.contains(at)).collect();
        // The first finds rounds of a loop that has just begun, the second rounds of outer loops.
        let (mut near, mut far) = (Before::default(), Before::default());
        if bodies == 0 {
            ready.extend(late);
        }
        while let Some(thread) = ready.pop() {
            let way = &mut ways[thread];
            match way.body.as_mut().map_or_else(|| way.after.next(), Cursor::next) {
                Some(meeting) => {
                    if self.tried >= MOST_TRIED {
                        return Err(too_many(meeting.1));
                    }
                    self.come(thread, meeting, &mut ways, &mut ready);
                    let mut skips =
                        |before: &mut Before<'m>| before.skips(&mut ways, thread, &mut self.tried);
                    if skips(&mut far) || skips(&mut near) {
                        near = Before::default();
                    }
                }
                None if way.body.take().is_some() => {
                    bodies -= 1;
                    ready.push(thread);
                    if bodies == 0 {
                        ready.extend(late);
                    }
                }
                None => {}
            }
        }
        (0..self.threads.len()).try_for_each(|thread| self.gone_on(thread, &ways))
    }

    /// A thread arrives at a barrier. The last one releases all.
    fn come(
        &mut self,
        thread: usize,
        meeting: (BarrierId, &'m Place),
        ways: &mut [Way<'m>],
        ready: &mut Vec<usize>,
    ) {
        let barrier = meeting.0.index();
        self.tried += 1;
        ways[thread].waits = Some(meeting);
        self.there[barrier].push(thread);
        if self.there[barrier].len() == self.workload.barriers[barrier].parties as usize {
            for thread in self.there[barrier].drain(..) {
                ways[thread].waits = None;
                ready.push(thread);
            }
        }
    }

    /// Checks that no thread waits when none can continue.
    fn gone_on(&self, thread: usize, ways: &[Way<'_>]) -> Checked {
        let Some((barrier, place)) = ways[thread].waits else { return Ok(()) };
        let comes = |at: &usize| {
            let ThreadMeetings { before, body, after, .. } = &self.threads[*at];
            counted(&[before, body, after]).contains_key(&barrier)
        };
        let missing = (0..self.threads.len())
            .filter(|at| ways[*at].waits.is_none_or(|(elsewhere, _)| elsewhere != barrier))
            .find(comes)
            .expect("a thread that waits, waits for another");
        let barrier_name = |id: BarrierId| &self.workload.barriers[id].name;
        let why = match ways[missing].waits {
            Some((elsewhere, _)) => {
                format!("waits at {:?}: let all meet in the same order", barrier_name(elsewhere))
            }
            None => "arrives only after the bodies of the others: meet there after those".to_owned(),
        };
        let what = format!(
            "waits for ever at barrier {:?} for thread {:?}, which {why}",
            barrier_name(barrier),
            name(self.workload, &self.threads[missing])
        );
        Err(Problem { place: place.clone(), what })
    }
}

/// The error of an order that does not repeat soon enough.
fn too_many(place: &Place) -> Problem {
    let what = format!(
        "meets in an order that is not tried to its end in 2^{} meetings: let all who meet here meet in the same loops, or \
         meet less often",
        MOST_TRIED.ilog2()
    );
    Problem { place: place.clone(), what }
}
