//! The times at which threads were within some ranges.

use crate::{Ns, RangeId, ThreadId, Trace};

/// The time that some ranges cover on each thread. Ranges that overlap, such as those of a recursive function, count
/// once.
pub struct Within {
    /// Thread, start and end; sorted, and disjoint within a thread. Ranges that name no thread are under `NONE`.
    covered: Vec<(ThreadId, Ns, Ns)>,
}

impl Within {
    /// The time that the `chosen` ranges cover.
    pub fn new(trace: &Trace, chosen: impl Fn(RangeId) -> bool) -> Within {
        let ranges = &trace.ranges;
        let row = |range: RangeId| {
            let at = range.index();
            (ranges.thread[at], ranges.start[at], ranges.end[at])
        };
        Within::of(ranges.ids().filter(|range| chosen(*range)).map(row).collect())
    }

    /// The time that the intervals of threads cover.
    pub fn of(mut intervals: Vec<(ThreadId, Ns, Ns)>) -> Within {
        intervals.sort_unstable();
        intervals.dedup_by(|next, last| {
            let joins = next.0 == last.0 && next.1 <= last.2;
            if joins {
                last.2 = last.2.max(next.2);
            }
            joins
        });
        Within { covered: intervals }
    }

    /// The intervals by thread, `NONE` for those of every thread; sorted and disjoint.
    pub fn intervals(&self) -> &[(ThreadId, Ns, Ns)] {
        &self.covered
    }

    /// Whether a thread was within a range at a time.
    pub fn holds(&self, thread: ThreadId, at: Ns) -> bool {
        [thread, ThreadId::NONE].into_iter().any(|of| self.before(of, at).is_some_and(|(_, end)| at < end))
    }

    /// Whether a thread was within a range at any time of `[start, end)`, or at `start`; for `NONE`, whether any
    /// thread was.
    pub fn touches(&self, thread: ThreadId, start: Ns, end: Ns) -> bool {
        let overlaps = |of| {
            let last = self.before(of, start.max(end.saturating_sub(1)));
            last.is_some_and(|(_, over)| start < over)
        };
        match thread.some() {
            Some(thread) => overlaps(thread) || overlaps(ThreadId::NONE),
            None => self.covered.iter().any(|(_, from, to)| start < *to && *from < end.max(start + 1)),
        }
    }

    /// The last interval of a thread that begins at or before a time.
    fn before(&self, thread: ThreadId, at: Ns) -> Option<(Ns, Ns)> {
        let begun = self.covered.partition_point(|(of, start, _)| (*of, *start) <= (thread, at));
        let (of, start, end) = *self.covered.get(begun.checked_sub(1)?)?;
        (of == thread).then_some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_count_once_and_those_of_no_thread_for_all() {
        let [a, b] = [ThreadId::new(0), ThreadId::new(1)];
        let within =
            Within::of(vec![(a, 10, 20), (a, 15, 30), (a, 30, 40), (a, 50, 60), (b, 0, 5), (a, 70, 70)]);
        assert_eq!(within.intervals(), [(a, 10, 40), (a, 50, 60), (a, 70, 70), (b, 0, 5)]);
        let held = |thread, at| within.holds(thread, at);
        assert!(held(a, 10) && held(a, 39) && held(b, 4));
        assert!(!held(a, 9) && !held(a, 40) && !held(b, 10) && !held(ThreadId::NONE, 10) && !held(a, 70));
        assert!(
            within.touches(a, 0, 11) && within.touches(a, 39, 50) && within.touches(ThreadId::NONE, 4, 9)
        );
        assert!(!within.touches(a, 0, 10) && !within.touches(a, 40, 50) && !within.touches(b, 5, 90));
        let everywhere = Within::of(vec![(ThreadId::NONE, 10, 20)]);
        assert!(everywhere.holds(a, 10) && everywhere.holds(b, 19) && !everywhere.holds(b, 20));
    }
}
