//! Threads that meet do not wait for ever.
//!
//! As many threads come to a barrier as it is for, equally often in `before` (which all must end before any body
//! begins) and equally often later. Then the order is tried: with every thread of a barrier needed at every meeting,
//! who waits for whom does not depend on how fast anybody is.

use std::collections::BTreeMap;

use super::Checked;
use super::walk::{self, At};
use crate::error::{Part, Place, Problem};
use crate::model::*;

/// After so many meetings the order is taken to be right: a wrong one shows in the first rounds, and a million takes
/// about 10 ms (`tests/built.rs`, two threads, one core of a virtual machine).
const MOST_TRIED: u64 = 1 << 20;

/// Checks barriers.
pub fn check(workload: &Workload) -> Checked {
    let threads = meeting_threads(workload)?;
    counts(workload, &threads)?;
    Trial::new(workload, &threads).run()
}

/// How many threads meet at each barrier; barriers that are not there are left out.
pub fn parties(workload: &Workload) -> Vec<u32> {
    let mut parties = vec![0; workload.barriers.len()];
    for (row, item) in walk::threads(workload) {
        let thread = &workload.processes[row].threads[item];
        let mut meets = vec![false; parties.len()];
        Part::ALL.iter().for_each(|part| mark(part.of(thread), &mut meets));
        parties.iter_mut().zip(meets).for_each(|(count, meets)| *count += u32::from(meets));
    }
    parties
}

fn mark(steps: &[Step], meets: &mut [bool]) {
    for step in steps {
        match step {
            Step::Call(Call::Meet { barrier }) => {
                if let Some(meets) = meets.get_mut(barrier.index()) {
                    *meets = true;
                }
            }
            Step::Call(_) => {}
            Step::Loop { steps, .. } | Step::Capture { steps, .. } => mark(steps, meets),
        }
    }
}

/// The meetings among steps, in order.
enum Meeting {
    At { barrier: BarrierId, place: Place },
    Loop { times: u64, meetings: Vec<Meeting> },
}

/// The meetings of a thread.
struct Meets {
    process: usize,
    thread: usize,
    before: Vec<Meeting>,
    body: Vec<Meeting>,
    after: Vec<Meeting>,
    waits_for_others: bool,
}

/// All threads with their meetings.
fn meeting_threads(workload: &Workload) -> Result<Vec<Meets>, Problem> {
    walk::threads(workload)
        .map(|(process, row)| {
            let thread = &workload.processes[process].threads[row];
            let of = |part: Part| meetings(part.of(thread), &mut At::new(workload, process, row, part));
            let body = match (of(Part::Body), thread.repeat) {
                (meetings, Repeat::Times(1)) => meetings,
                (meetings, _) if meetings.is_empty() => meetings,
                (meetings, Repeat::Times(times)) => vec![Meeting::Loop { times, meetings }],
                (meetings, Repeat::For(_) | Repeat::WhileOthers) => return Err(endless(&meetings[0])),
            };
            Ok(Meets {
                process,
                thread: row,
                before: of(Part::Before),
                body,
                after: of(Part::After),
                waits_for_others: thread.repeat == Repeat::WhileOthers,
            })
        })
        .collect()
}

fn meetings<'w>(steps: &'w [Step], at: &mut At<'w>) -> Vec<Meeting> {
    let mut found = Vec::new();
    for (row, step) in steps.iter().enumerate() {
        at.within(row, |at| match step {
            Step::Call(Call::Meet { barrier }) => {
                found.push(Meeting::At { barrier: *barrier, place: at.place() });
            }
            // Captures have none: they cannot be captured.
            Step::Call(_) | Step::Capture { .. } => {}
            Step::Loop { times, steps } => {
                let meetings = meetings(steps, at);
                if !meetings.is_empty() {
                    found.push(Meeting::Loop { times: *times, meetings });
                }
            }
        });
    }
    found
}

/// The first meeting in a body that is done nobody knows how often.
fn endless(meeting: &Meeting) -> Problem {
    match meeting {
        Meeting::At { place, .. } => Problem {
            place: place.clone(),
            what: "meets in a body that is not done a given number of times: give one, or meet in `before` or `after`"
                .to_owned(),
        },
        Meeting::Loop { meetings, .. } => endless(&meetings[0]),
    }
}

/// How often each barrier is met at, and where first.
type Counts = BTreeMap<BarrierId, (u128, Place)>;

fn count(meetings: &[Meeting], rounds: u128, counts: &mut Counts) {
    for meeting in meetings {
        match meeting {
            Meeting::At { barrier, place } => {
                counts.entry(*barrier).or_insert_with(|| (0, place.clone())).0 += rounds;
            }
            // No overflow: all calls together were counted.
            Meeting::Loop { times, meetings } => count(meetings, rounds * u128::from(*times), counts),
        }
    }
}

/// That barriers are for as many threads as come, and that those come equally often.
fn counts(workload: &Workload, threads: &[Meets]) -> Checked {
    let early: Vec<Counts> = threads.iter().map(|thread| counted(&[&thread.before])).collect();
    let late: Vec<Counts> = threads.iter().map(|thread| counted(&[&thread.body, &thread.after])).collect();
    for (row, barrier) in workload.barriers.iter().enumerate() {
        let id = BarrierId(row as u32);
        let come =
            (0..threads.len()).filter(|at| early[*at].contains_key(&id) || late[*at].contains_key(&id));
        let come: Vec<usize> = come.collect();
        if come.len() != barrier.parties as usize || come.is_empty() {
            let parties = barrier.parties;
            let what = format!("is for {parties} threads, but {} meet there: make it for those", come.len());
            let what = if come.is_empty() { "nobody meets there: remove it".to_owned() } else { what };
            return Err(Problem { place: Place::Barrier(row), what });
        }
        equal(workload, threads, &come, id, &early, "before")?;
        equal(workload, threads, &come, id, &late, "body and after")?;
    }
    Ok(())
}

fn counted(parts: &[&[Meeting]]) -> Counts {
    let mut counts = Counts::new();
    parts.iter().for_each(|meetings| count(meetings, 1, &mut counts));
    counts
}

/// That all who come to a barrier do so equally often.
fn equal(
    workload: &Workload,
    threads: &[Meets],
    come: &[usize],
    id: BarrierId,
    counts: &[Counts],
    part: &str,
) -> Checked {
    let often = |at: usize| counts[at].get(&id).map_or(0, |(count, _)| *count);
    let most = come.iter().copied().max_by_key(|at| often(*at)).expect("somebody comes");
    let Some(least) = come.iter().copied().find(|at| often(*at) < often(most)) else { return Ok(()) };
    let place = counts[most][&id].1.clone();
    let what = format!(
        "meets at barrier {:?} {} times in {part}, thread {:?} {}: let all come equally often",
        workload.barriers[id.index()].name,
        often(most),
        name(workload, &threads[least]),
        often(least)
    );
    Err(Problem { place, what })
}

fn name<'w>(workload: &'w Workload, thread: &Meets) -> &'w str {
    &workload.processes[thread.process].threads[thread.thread].name
}

/// Where a thread is among its meetings: lists within lists, each with its rounds left.
struct Cursor<'m> {
    stack: Vec<(&'m [Meeting], usize, u64)>,
}

impl<'m> Cursor<'m> {
    fn new(meetings: &'m [Meeting]) -> Cursor<'m> {
        Cursor { stack: vec![(meetings, 0, 1)] }
    }

    /// The next meeting.
    fn next(&mut self) -> Option<(BarrierId, &'m Place)> {
        loop {
            let (meetings, row, rounds) = self.stack.last_mut()?;
            match meetings.get(*row) {
                Some(Meeting::At { barrier, place }) => {
                    *row += 1;
                    return Some((*barrier, place));
                }
                Some(Meeting::Loop { times, meetings }) => {
                    *row += 1;
                    self.stack.push((meetings, 0, *times));
                }
                None if *rounds > 1 => (*row, *rounds) = (0, *rounds - 1),
                None => {
                    self.stack.pop();
                }
            }
        }
    }
}

/// The meetings a thread still has in a part of the workload's run.
struct Way<'m> {
    /// Those in its body; `None` when it is done.
    body: Option<Cursor<'m>>,
    /// Those that come then.
    after: Cursor<'m>,
}

/// Lets the threads meet.
struct Trial<'m> {
    workload: &'m Workload,
    threads: &'m [Meets],
    /// Where each thread waits, if it does.
    waiting: Vec<Option<(BarrierId, &'m Place)>>,
    /// Who waits at each barrier.
    there: Vec<Vec<usize>>,
    /// Meetings so far.
    tried: u64,
}

impl<'m> Trial<'m> {
    fn new(workload: &'m Workload, threads: &'m [Meets]) -> Trial<'m> {
        Trial {
            workload,
            threads,
            waiting: vec![None; threads.len()],
            there: vec![Vec::new(); workload.barriers.len()],
            tried: 0,
        }
    }

    /// First what is done before any body, then the bodies and what comes after each.
    fn run(&mut self) -> Checked {
        let before = |thread: &'m Meets| Way { body: None, after: Cursor::new(&thread.before) };
        self.meet(self.threads.iter().map(before).collect(), &[])?;
        let timed = |thread: &'m Meets| Way {
            body: (!thread.waits_for_others).then(|| Cursor::new(&thread.body)),
            after: Cursor::new(&thread.after),
        };
        let late = |at: &usize| self.threads[*at].waits_for_others;
        let late: Vec<usize> = (0..self.threads.len()).filter(late).collect();
        self.meet(self.threads.iter().map(timed).collect(), &late)
    }

    /// Lets all threads go their ways, those of `late` when the bodies of all others are done.
    fn meet(&mut self, mut ways: Vec<Way<'m>>, late: &[usize]) -> Checked {
        let mut bodies = ways.iter().filter(|way| way.body.is_some()).count();
        let mut ready: Vec<usize> = (0..ways.len()).filter(|at| !late.contains(at)).collect();
        if bodies == 0 {
            ready.extend(late);
        }
        while let Some(thread) = ready.pop() {
            let way = &mut ways[thread];
            match way.body.as_mut().map_or_else(|| way.after.next(), Cursor::next) {
                Some(meeting) => self.come(thread, meeting, &mut ready),
                None if way.body.take().is_some() => {
                    bodies -= 1;
                    ready.push(thread);
                    if bodies == 0 {
                        ready.extend(late);
                    }
                }
                None => {}
            }
            if self.tried > MOST_TRIED {
                return Ok(());
            }
        }
        (0..self.threads.len()).try_for_each(|thread| self.gone_on(thread))
    }

    /// A thread comes to a barrier; the last one lets all go on.
    fn come(&mut self, thread: usize, meeting: (BarrierId, &'m Place), ready: &mut Vec<usize>) {
        let barrier = meeting.0.index();
        self.tried += 1;
        self.waiting[thread] = Some(meeting);
        self.there[barrier].push(thread);
        if self.there[barrier].len() == self.workload.barriers[barrier].parties as usize {
            for thread in self.there[barrier].drain(..) {
                self.waiting[thread] = None;
                ready.push(thread);
            }
        }
    }

    /// That a thread does not wait, now that nobody can move.
    fn gone_on(&self, thread: usize) -> Checked {
        let Some((barrier, place)) = self.waiting[thread] else { return Ok(()) };
        let comes = |at: &usize| {
            let Meets { before, body, after, .. } = &self.threads[*at];
            counted(&[before, body, after]).contains_key(&barrier)
        };
        let missing = (0..self.threads.len())
            .filter(|at| self.waiting[*at].is_none_or(|(elsewhere, _)| elsewhere != barrier))
            .find(comes)
            .expect("who waits has somebody to wait for");
        let barrier_name = |id: BarrierId| &self.workload.barriers[id.index()].name;
        let why = match self.waiting[missing] {
            Some((elsewhere, _)) => {
                format!("waits at {:?}: let all meet in the same order", barrier_name(elsewhere))
            }
            None => "comes only when the bodies of others are done: meet there after those".to_owned(),
        };
        let what = format!(
            "waits for ever at barrier {:?} for thread {:?}, which {why}",
            barrier_name(barrier),
            name(self.workload, &self.threads[missing])
        );
        Err(Problem { place: place.clone(), what })
    }
}
