//! Sets of times.

use crate::Ns;

/// Half-open intervals, ns, in order and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times(Vec<(Ns, Ns)>);

impl Times {
    /// The union of some intervals, in any order; empty ones count for nothing.
    pub fn of(intervals: impl IntoIterator<Item = (Ns, Ns)>) -> Times {
        let mut times: Vec<_> = intervals.into_iter().filter(|(start, end)| start < end).collect();
        if !times.is_sorted() {
            times.sort_unstable();
        }
        times.dedup_by(|later, first| {
            let touches = later.0 <= first.1;
            if touches {
                first.1 = first.1.max(later.1);
            }
            touches
        });
        Times(times)
    }

    /// The intervals, in order and apart.
    pub fn intervals(&self) -> &[(Ns, Ns)] {
        &self.0
    }

    /// Whether a moment is in one of them.
    pub fn hold(&self, at: Ns) -> bool {
        let next = self.0.partition_point(|(_, end)| *end <= at);
        self.0.get(next).is_some_and(|(start, _)| *start <= at)
    }

    /// How much of `[from, to)` is in them, ns.
    pub fn part(&self, from: Ns, to: Ns) -> Ns {
        let first = self.0.partition_point(|(_, end)| *end <= from);
        let within = self.0[first..].iter().take_while(|(start, _)| *start < to);
        within.map(|(start, end)| (*end).min(to) - (*start).max(from)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_touch_are_one() {
        let times = Times::of([(30, 40), (0, 10), (10, 20), (5, 8), (50, 50), (35, 38)]);
        assert_eq!(times.0, [(0, 20), (30, 40)]);
        assert_eq!([-1, 0, 19, 20, 30, 40].map(|at| times.hold(at)), [false, true, true, false, true, false]);
        assert_eq!((times.part(-5, 100), times.part(15, 35), times.part(20, 30)), (30, 10, 0));
    }
}
