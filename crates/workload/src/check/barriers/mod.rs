//! No thread waits at a barrier for ever.
//!
//! A barrier has as many threads as it is for, which meet there equally often in `before` (which all threads must end before
//! any body begins) and equally often later. Then `order.rs` executes the meetings to find a deadlock.

mod meetings;
mod order;

use super::walk;
use crate::error::{Checked, Part, Place, Problem};
use crate::model::*;
use meetings::{Counts, ThreadMeetings, counted, name};
use order::Order;

/// Checks barriers.
pub fn check(workload: &Workload) -> Checked {
    let threads = meetings::of_threads(workload)?;
    counts(workload, &threads)?;
    Order::new(workload, &threads).run()
}

/// The number of threads that meet at each barrier, without references to barriers that do not exist.
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

/// Checks that barriers are for as many threads as meet there, and that those meet equally often.
fn counts(workload: &Workload, threads: &[ThreadMeetings]) -> Checked {
    let early: Vec<Counts> = threads.iter().map(|thread| counted(&[&thread.before])).collect();
    let late: Vec<Counts> = threads.iter().map(|thread| counted(&[&thread.body, &thread.after])).collect();
    for (row, barrier) in workload.barriers.iter().enumerate() {
        let id = BarrierId(row as u32);
        let come =
            (0..threads.len()).filter(|at| early[*at].contains_key(&id) || late[*at].contains_key(&id));
        let come: Vec<usize> = come.collect();
        if come.len() != barrier.parties as usize || come.is_empty() {
            let parties = barrier.parties;
            let what = format!(
                "is for {parties} threads, but {} meet there: change the number or the steps",
                come.len()
            );
            let what = if come.is_empty() { "no thread meets there: remove it".to_owned() } else { what };
            return Err(Problem { place: Place::Barrier(row), what });
        }
        equal(workload, threads, &come, id, &early, "before")?;
        equal(workload, threads, &come, id, &late, "body and after")?;
    }
    Ok(())
}

/// Checks that all threads of a barrier meet there equally often.
fn equal(
    workload: &Workload,
    threads: &[ThreadMeetings],
    come: &[usize],
    id: BarrierId,
    counts: &[Counts],
    part: &str,
) -> Checked {
    let often = |at: usize| counts[at].get(&id).map_or(0, |(count, _)| *count);
    let most = come.iter().copied().max_by_key(|at| often(*at)).expect("a thread meets there");
    let Some(least) = come.iter().copied().find(|at| often(*at) < often(most)) else { return Ok(()) };
    let place = counts[most][&id].1.clone();
    let what = format!(
        "meets at barrier {:?} {} times in {part}, thread {:?} {}: let all threads meet there equally often",
        workload.barriers[id].name,
        often(most),
        name(workload, &threads[least]),
        often(least)
    );
    Err(Problem { place, what })
}
