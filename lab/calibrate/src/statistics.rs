//! From samples to figures. Pure functions of numbers.

use std::fmt;

/// Summary of the samples of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The middle value, ns; of an even number of samples, the mean of the two in the middle.
    pub median: i64,
    /// Half of the range that the middle half of the samples has, ns.
    pub spread: i64,
    /// Number of samples.
    pub count: usize,
}

impl Sample {
    /// Of times in ns; `None` without any.
    pub fn of(times: impl IntoIterator<Item = i64>) -> Option<Sample> {
        let mut times: Vec<i64> = times.into_iter().collect();
        times.sort_unstable();
        let count = times.len();
        let at = |row: usize| times.get(row).copied();
        let (low, high) = (at((count.checked_sub(1)?) / 2)?, at(count / 2)?);
        let (first, third) = (at((count - 1) / 4)?, at((count - 1) * 3 / 4)?);
        Some(Sample { median: low + (high - low) / 2, spread: (third - first) / 2, count })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: i64| ns as f64 / 1000.0;
        let (median, spread, count) = (us(self.median), us(self.spread), self.count);
        write!(to, "median of {count}: {median:.2} µs ± {spread:.2}")
    }
}

/// A straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// Its value at 0.
    pub at_zero: f64,
    /// Value that each unit adds.
    pub per_unit: f64,
}

impl Line {
    /// The line of least squares of *relative* errors through points `(units, value)`, so that small values count as much as large
    /// ones. `None` with fewer than two different units, or without a positive value.
    pub fn through(points: &[(f64, f64)]) -> Option<Line> {
        let (mut weights, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (unit, value) in points.iter().filter(|(_, value)| *value > 0.0) {
            let weight = 1.0 / (value * value);
            weights += weight;
            x += weight * unit;
            y += weight * value;
            xx += weight * unit * unit;
            xy += weight * unit * value;
        }
        let under = weights * xx - x * x;
        // Relative to its parts: of one unit only rounding is left.
        if under <= weights * xx * 1e-9 {
            return None;
        }
        let per_unit = (weights * xy - x * y) / under;
        Some(Line { at_zero: (y - per_unit * x) / weights, per_unit })
    }

    /// The line through the medians of samples, by their units.
    pub fn of(samples: &[(u64, Sample)]) -> Option<Line> {
        let point = |(units, sample): &(u64, Sample)| (*units as f64, sample.median as f64);
        Line::through(&samples.iter().map(point).collect::<Vec<_>>())
    }
}

/// A time per unit, ns, as a model has it: to a picosecond, and never negative.
pub(crate) fn per_unit(ns: f64) -> f64 {
    (ns.max(0.0) * 1000.0).round() / 1000.0
}

/// The rate of a copy that takes so many ns per byte, MB/s (10⁶ bytes); `None` if that is no time.
pub(crate) fn mb_s(ns_per_byte: f64) -> Option<u64> {
    (ns_per_byte > 1e-6).then(|| (1000.0 / ns_per_byte).round().max(1.0) as u64)
}

/// How many of `times`, by number from 1 on, stay closer to the first than to half as much again, before one does not. With that many
/// streams, chains of two kernels ran side by side: with one more, its first kernel starts beside the second one of another chain.
pub(crate) fn side_by_side(times: &[i64]) -> Option<u32> {
    let alone = *times.first().filter(|time| **time > 0)?;
    let together = times.iter().take_while(|time| **time < alone + alone / 4).count();
    (together < times.len()).then_some(together as u32)
}

/// Divides a time in the proportion of the parts of another one; in equal parts if those are all 0. The parts add up to it.
pub(crate) fn divided<const N: usize>(total: i64, like: [i64; N]) -> [i64; N] {
    let total = total.max(0);
    let sum: i64 = like.iter().sum();
    let mut left = total;
    let mut parts = like.map(|part| {
        let share = match sum {
            0 => total / N as i64,
            sum => (i128::from(total) * i128::from(part) / i128::from(sum)) as i64,
        };
        left -= share;
        share
    });
    if let Some(largest) = parts.iter_mut().max() {
        *largest += left;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_call_moves_neither_median_nor_spread() {
        let sample = Sample::of([5, 1, 3, 2, 4, 1_000_000, 3]);
        assert_eq!(sample, Some(Sample { median: 3, spread: 1, count: 7 }));
        assert_eq!(Sample::of([10, 20]).map(|sample| sample.median), Some(15));
        assert_eq!(Sample::of([]), None);
    }

    #[test]
    fn a_sample_is_printed_in_microseconds() {
        let sample = Sample { median: 3_456, spread: 120, count: 200 };
        assert_eq!(sample.to_string(), "median of 200: 3.46 µs ± 0.12");
    }

    #[test]
    fn a_line_finds_latency_and_rate_over_five_decades() {
        let copy = |bytes: f64| (bytes, 9_000.0 + bytes / 55.5);
        let line = Line::through(&[4096.0, 65_536.0, 524_288.0, 4_194_304.0, 33_554_432.0].map(copy));
        let line = line.expect("different sizes");
        assert!((line.at_zero - 9_000.0).abs() < 1.0, "{line:?}");
        assert_eq!(mb_s(line.per_unit), Some(55_500));
    }

    #[test]
    fn the_smallest_copy_counts_as_much_as_the_largest() {
        // The large one is off by 5 %, which is a thousand times the small one.
        let line = Line::through(&[(0.0, 10.0), (1.0, 11.0), (10_000.0, 10_500.0)]).expect("a line");
        assert!((line.at_zero - 10.0).abs() < 0.5, "{line:?}");
    }

    #[test]
    fn one_size_is_no_line() {
        assert_eq!(Line::through(&[(3.0, 10.0), (3.0, 11.0)]), None);
        assert_eq!(Line::through(&[(3.0, 10.0), (4.0, 0.0)]), None);
        assert_eq!(mb_s(0.0), None);
    }

    #[test]
    fn streams_run_side_by_side_up_to_the_first_that_waits() {
        assert_eq!(side_by_side(&[100, 101, 103, 150, 151]), Some(3));
        assert_eq!(side_by_side(&[100, 200]), Some(1));
        assert_eq!(side_by_side(&[100, 101, 102]), None, "none waited");
        assert_eq!(side_by_side(&[]), None);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        assert_eq!(divided(3_500, [1_100, 1_250, 1_150]), [1_100, 1_250, 1_150]);
        assert_eq!(divided(7, [1, 1, 1]).iter().sum::<i64>(), 7);
        assert_eq!(divided(10, [0, 0]), [5, 5]);
        assert_eq!(divided(-3, [1, 2]), [0, 0]);
    }
}
