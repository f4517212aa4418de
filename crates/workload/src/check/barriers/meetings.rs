//! The barriers at which each thread of a workload meets others, in order, and how often.

use super::super::walk::{self, At};
use crate::error::{Part, Place, Problem};
use crate::model::*;
use std::collections::BTreeMap;

/// The meetings among steps, in order.
pub enum Meeting {
    At { barrier: BarrierId, place: Place },
    Loop { times: u64, meetings: Vec<Meeting> },
}

/// The meetings of a thread.
pub struct ThreadMeetings {
    process: usize,
    thread: usize,
    pub before: Vec<Meeting>,
    pub body: Vec<Meeting>,
    pub after: Vec<Meeting>,
    pub waits_for_others: bool,
}

/// All threads with their meetings.
pub fn of_threads(workload: &Workload) -> Result<Vec<ThreadMeetings>, Problem> {
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
            Ok(ThreadMeetings {
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
            // A capture has none, because they cannot be captured.
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

/// The error of a meeting in a body without a number of repetitions, at the first such meeting.
fn endless(meeting: &Meeting) -> Problem {
    match meeting {
        Meeting::At { place, .. } => Problem {
            place: place.clone(),
            what:
                "meets in a body without a number of repetitions: give it one, or meet in `before` or `after`"
                    .to_owned(),
        },
        Meeting::Loop { meetings, .. } => endless(&meetings[0]),
    }
}

/// How often threads meet at each barrier, and where first.
pub type Counts = BTreeMap<BarrierId, (u128, Place)>;

fn count(meetings: &[Meeting], rounds: u128, counts: &mut Counts) {
    for meeting in meetings {
        match meeting {
            Meeting::At { barrier, place } => {
                counts.entry(*barrier).or_insert_with(|| (0, place.clone())).0 += rounds;
            }
            // No overflow: `limits` counted all calls.
            Meeting::Loop { times, meetings } => count(meetings, rounds * u128::from(*times), counts),
        }
    }
}

/// How often threads meet at each barrier in these parts.
pub fn counted(parts: &[&[Meeting]]) -> Counts {
    let mut counts = Counts::new();
    parts.iter().for_each(|meetings| count(meetings, 1, &mut counts));
    counts
}

/// A thread's name.
pub fn name<'w>(workload: &'w Workload, thread: &ThreadMeetings) -> &'w str {
    &workload.processes[thread.process].threads[thread.thread].name
}
