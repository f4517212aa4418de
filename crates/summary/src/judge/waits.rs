//! Calls that wait for the GPU because the program asks for it, once or again and again.

use super::facts::{ALIKE, Facts, reaches, sum};
use crate::judgement::{Reading, Sight};
use crate::model::Row;
use explain::{Bound, Cause, Class};
use trace::Ns;

/// Number of questions from which a thread polls.
const POLLS: u64 = 1_000;

/// The readings of calls that wait, and of those that poll. `free_ns` of the GPU's time is that of no launch.
pub(super) fn readings(facts: &Facts<'_>, free_ns: Option<Ns>) -> Vec<Reading> {
    let waits = facts.calls(|class| class == Class::Sync);
    let polls: Vec<&Row> =
        facts.calls(|class| class == Class::Query).into_iter().filter(|row| is_poll(row)).collect();
    let mut readings = Vec::new();
    for (sight, rows) in [(Sight::Waits, waits), (Sight::Polls, polls)] {
        let (_, calls_ns) = sum(rows.iter().copied());
        if calls_ns == 0 {
            continue;
        }
        let reading = facts.of(sight, rows);
        readings.push(match free_ns {
            None => reading.because(Cause::ExplicitSync, &[]),
            Some(free_ns) if reaches(free_ns, ALIKE, calls_ns) => {
                let is_copies = facts.copies.1 > facts.kernels.1;
                Reading { bound: Some(if is_copies { Bound::Copies } else { Bound::Gpu }), ..reading }
            }
            Some(_) => Reading { sight: Sight::Unlike, ..reading }.unknown(),
        });
    }
    readings
}

fn is_poll(row: &Row) -> bool {
    row.count >= POLLS && (row.name.contains("StreamQuery") || row.name.contains("EventQuery"))
}
