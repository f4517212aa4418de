//! Sums of time: unions of intervals and distributions of durations.

use super::Row;
use trace::Ns;

/// Total length of the union of half-open intervals; sorts them.
pub(super) fn union(intervals: &mut [(Ns, Ns)]) -> Ns {
    if !intervals.is_sorted() {
        intervals.sort_unstable();
    }
    let (mut total, mut reached) = (0, Ns::MIN);
    for &(start, end) in intervals.iter() {
        let from = start.max(reached);
        if end > from {
            total += end - from;
            reached = end;
        }
    }
    total
}

/// Durations of one name, summed up as they come.
#[derive(Clone, Copy)]
pub(super) struct Distribution {
    count: u64,
    total: Ns,
    min: Ns,
    max: Ns,
    /// Welford's running mean and sum of squared distances from it: no cancellation, one pass.
    mean: f64,
    squares: f64,
}

impl Distribution {
    pub(super) const EMPTY: Distribution =
        Distribution { count: 0, total: 0, min: Ns::MAX, max: Ns::MIN, mean: 0.0, squares: 0.0 };

    pub(super) fn add(&mut self, duration: Ns) {
        self.count += 1;
        self.total = self.total.saturating_add(duration);
        self.min = self.min.min(duration);
        self.max = self.max.max(duration);
        let off = duration as f64 - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (duration as f64 - self.mean);
    }

    /// The row of that name; shares are parts of `whole`.
    pub(super) fn row(&self, name: String, whole: f64) -> Row {
        let degrees = self.count.saturating_sub(1).max(1) as f64;
        Row {
            name,
            count: self.count,
            total_ns: self.total,
            share: share(self.total, whole),
            mean_ns: self.mean,
            deviation_ns: (self.squares / degrees).sqrt(),
            min_ns: self.min,
            max_ns: self.max,
        }
    }
}

/// `part` of `whole`; 0 where there is no whole.
pub(super) fn share(part: Ns, whole: f64) -> f64 {
    if whole > 0.0 { part as f64 / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_and_overlapping_time_counts_once() {
        assert_eq!(union(&mut [(0, 10), (2, 5), (8, 12), (20, 21), (21, 21)]), 13);
        assert_eq!(union(&mut [(8, 12), (0, 10)]), 12);
        assert_eq!(union(&mut []), 0);
    }

    #[test]
    fn a_distribution_has_the_samples_deviation() {
        let mut distribution = Distribution::EMPTY;
        [2, 4, 4, 4, 5, 5, 7, 9].iter().for_each(|&ns| distribution.add(ns));
        let row = distribution.row(String::from("x"), 80.0);
        assert_eq!((row.count, row.total_ns, row.min_ns, row.max_ns), (8, 40, 2, 9));
        assert_eq!((row.share, row.mean_ns), (0.5, 5.0));
        assert!((row.deviation_ns - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
