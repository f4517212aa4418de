//! Threads that meet do not wait for ever.
//!
//! As many threads come to a barrier as it is for, equally often in `before` (which all must end before any body
//! begins) and equally often later. Then the order is tried (`trial.rs`).

use std::collections::BTreeMap;

use super::Checked;
use super::trial::Trial;
use super::walk::{self, At};
use crate::error::{Part, Place, Problem};
use crate::model::*;

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
pub enum Meeting {
    At { barrier: BarrierId, place: Place },
    Loop { times: u64, meetings: Vec<Meeting> },
}

/// The meetings of a thread.
pub struct Meets {
    process: usize,
    thread: usize,
    pub before: Vec<Meeting>,
    pub body: Vec<Meeting>,
    pub after: Vec<Meeting>,
    pub waits_for_others: bool,
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
pub type Counts = BTreeMap<BarrierId, (u128, Place)>;

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

/// How often each barrier is met at in these parts.
pub fn counted(parts: &[&[Meeting]]) -> Counts {
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

/// A thread's name.
pub fn name<'w>(workload: &'w Workload, thread: &Meets) -> &'w str {
    &workload.processes[thread.process].threads[thread.thread].name
}
