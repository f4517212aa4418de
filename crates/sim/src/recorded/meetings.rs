//! Collectives: kernels on several devices that exchange data. Each waits until the last of them has begun.

use super::{Meets, Work};
use crate::device::Part;
use rustc_hash::FxHashMap;

/// A collective.
#[derive(Default)]
struct Meeting {
    /// Its kernels that have not begun.
    missing: u32,
    /// The rows of those that have.
    begun: Vec<u32>,
    /// When the last one began so far, ns.
    last: i64,
    /// Parts of kernels that wait, and how long each takes from then on, ns.
    waiting: Vec<(Part, i64)>,
}

/// All collectives of a run.
pub(super) struct Meetings(FxHashMap<u32, Meeting>);

impl Meetings {
    pub fn of(works: &[Work]) -> Meetings {
        let mut meetings: FxHashMap<u32, Meeting> = FxHashMap::default();
        for meets in works.iter().filter_map(|work| work.meets) {
            meetings.entry(meets.number).or_default().missing += 1;
        }
        Meetings(meetings)
    }

    /// A part of a kernel begins at a time: a row of [`crate::Recorded::works`]. Returns the parts that end from now on, each with
    /// its end; none while a kernel is missing.
    pub fn begin(&mut self, part: Option<Part>, work: u32, meets: Meets, time: i64) -> Vec<(Part, i64)> {
        let meeting = self.0.entry(meets.number).or_default();
        if !meeting.begun.contains(&work) {
            meeting.begun.push(work);
            meeting.missing = meeting.missing.saturating_sub(1);
            meeting.last = meeting.last.max(time);
        }
        meeting.waiting.extend(part.map(|part| (part, meets.ns)));
        if meeting.missing == 0 { meeting.together() } else { Vec::new() }
    }

    /// Nothing happens any more: the kernels of the first collective that waits for others, with their ends, as if none was missing.
    pub fn give_up(&mut self) -> Option<Vec<(Part, i64)>> {
        let waits = self.0.iter_mut().filter(|(_, meeting)| !meeting.waiting.is_empty());
        let (_, first) = waits.min_by_key(|(number, _)| **number)?;
        first.missing = 0;
        Some(first.together())
    }
}

impl Meeting {
    fn together(&mut self) -> Vec<(Part, i64)> {
        let last = self.last;
        self.waiting.drain(..).map(|(part, ns)| (part, last + ns)).collect()
    }
}
