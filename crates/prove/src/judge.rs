//! The statistics: whether two commands differ, by blocks of four runs.
//!
//! A block has two runs of each command, in the order ABBA or BAAB. It gives one number: the mean logarithm of B's runs less
//! that of A's.
//!
//! **Why blocks.** A machine drifts: it gets warm, other programs come and go. Runs that are near in time share that, so that
//! it cancels between the runs of a block, and a steady drift cancels exactly because both commands have the same mean
//! position. Blocks are independent of each other where single runs are not: the interval counts blocks, not runs.
//!
//! **Why logarithms.** A slow moment makes a run longer by a factor, not by a constant. The difference of logarithms is the
//! logarithm of the ratio: it does not depend on the unit, and swapping the commands changes only its sign. Times are skewed,
//! and the difference of two equally skewed numbers is symmetrical, which is what Student's t needs with few blocks.

use crate::student::quantile_95;

/// Whether less or more of a metric is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sense {
    /// Less, as of time.
    LessIsBetter,
    /// More, as of requests per second.
    MoreIsBetter,
}

/// Two runs of each command that are near in time: the measured values, positive, in the order of the runs of each.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Block {
    /// Of the command before the change.
    pub before: [f64; 2],
    /// Of the command after it.
    pub after: [f64; 2],
}

impl Block {
    /// The logarithm of the ratio of after to before.
    fn change(&self) -> f64 {
        // Sums first: equal values give exactly 0.
        let sum = |values: [f64; 2]| values[0].ln() + values[1].ln();
        (sum(self.after) - sum(self.before)) / 2.0
    }

    /// The logarithm of the ratio of the second run before the change to the first one.
    fn control(&self) -> f64 {
        self.before[1].ln() - self.before[0].ln()
    }

    /// The variance of [`Block::change`] as the runs of each command among themselves show it.
    fn within(&self) -> f64 {
        [self.before, self.after].map(|[first, second]| (second.ln() - first.ln()).powi(2) / 4.0).iter().sum()
    }
}

/// The mean of a logarithm of ratios and half of its interval of 95 %.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Interval {
    mean: f64,
    half: f64,
}

impl Interval {
    /// Student's t interval; `None` of fewer than two.
    fn of(logarithms: &[f64]) -> Option<Interval> {
        let count = logarithms.len() as f64;
        if logarithms.len() < 2 {
            return None;
        }
        let mean = logarithms.iter().sum::<f64>() / count;
        let squares: f64 = logarithms.iter().map(|of| (of - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        Some(Interval { mean, half: quantile_95(logarithms.len() - 1) * error })
    }

    fn excludes_zero(self) -> bool {
        self.mean.abs() > self.half
    }

    /// The largest change within the interval, as a logarithm.
    fn largest(self) -> f64 {
        self.mean.abs() + self.half
    }

    fn gain(self, sense: Sense) -> Gain {
        let share = |logarithm: f64| match sense {
            // Of what was before: `exp_m1` is exact for the small ones.
            Sense::LessIsBetter => -logarithm.exp_m1(),
            Sense::MoreIsBetter => logarithm.exp_m1(),
        };
        let (one, other) = (share(self.mean - self.half), share(self.mean + self.half));
        // No minus before a zero.
        Gain { share: share(self.mean) + 0.0, low: one.min(other) + 0.0, high: one.max(other) + 0.0 }
    }
}

/// A gain as a share of what was before, with its interval of 95 %. It is positive if after is better.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    /// The gain.
    pub share: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
}

impl Gain {
    /// Half of the interval's width; for gains and losses over 100 %, as a part of the gain: a program that takes ten times as
    /// long needs no more runs than one that takes as long.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.share.abs().max(1.0)
    }

    /// The largest gain or loss within the interval.
    pub fn at_most(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Whether the interval excludes no gain at all: with 95 % certainty something differs.
    pub fn is_shown(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Verdict on the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// After is better.
    Faster,
    /// After is worse.
    Slower,
    /// The interval includes no gain.
    NoDifference,
    /// The command before the change differs from itself, by as much as the gain or more.
    Unsteady,
}

impl Verdict {
    /// The name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifference => "no-difference",
            Verdict::Unsteady => "unsteady",
        }
    }
}

/// The gain, and how far to trust it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Judgement {
    /// The gain of after over before.
    pub gain: Gain,
    /// The gain of the second run before the change over the first one of each block.
    pub control: Gain,
    /// Verdict that follows from both.
    pub verdict: Verdict,
    /// Whether the command before the change does not differ from itself.
    pub steady: bool,
}

/// Judges blocks; `None` for fewer than two.
///
/// The control compares the command before the change with itself, by the same interval. It cannot make a false difference: it
/// only ever withdraws one. Nor does it bias those that remain: the sum and the difference of two runs are uncorrelated, so
/// that the control tells nothing about the gain of the same blocks. A steady machine fails it by chance one time in twenty.
/// A gain that exceeds all that the control shows stays a verdict, though not a certain one: blocks cancel a steady drift.
pub fn judge(blocks: &[Block], sense: Sense) -> Option<Judgement> {
    let of = |log: fn(&Block) -> f64| Interval::of(&blocks.iter().map(log).collect::<Vec<_>>());
    let (change, control) = of(Block::change).zip(of(Block::control))?;
    let (steady, gain) = (!control.excludes_zero(), change.gain(sense));
    let is_beyond = change.mean.abs() - change.half > control.largest();
    let verdict = match steady || is_beyond {
        false => Verdict::Unsteady,
        true if !change.excludes_zero() => Verdict::NoDifference,
        true if gain.share > 0.0 => Verdict::Faster,
        true => Verdict::Slower,
    };
    Some(Judgement { gain, control: control.gain(sense), verdict, steady })
}

/// Whether the gain is known to half an interval of `precision`, as a share of what was before.
///
/// It asks for that twice: by the spread between blocks, which is the interval's own, and by the spread between runs of the
/// same command. Alone, the first one stops where the blocks happen to agree, and its intervals miss the truth in 7 to 8 of
/// 100 cases with normal noise. The second one is independent of the gain and of its interval, and brings that to 5
/// (`tests/calibration.rs`). Neither depends on the gain being there.
pub fn is_narrow(blocks: &[Block], sense: Sense, precision: f64) -> bool {
    let changes: Vec<f64> = blocks.iter().map(Block::change).collect();
    let Some(interval) = Interval::of(&changes) else { return false };
    let count = blocks.len() as f64;
    let within = blocks.iter().map(Block::within).sum::<f64>() / count;
    let error = (within / count).sqrt();
    let by_runs = Interval { half: quantile_95(blocks.len() - 1) * error, ..interval };
    [interval, by_runs].iter().all(|of| of.gain(sense).half_width() <= precision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(before: [f64; 2], after: [f64; 2]) -> Block {
        Block { before, after }
    }

    #[test]
    fn a_gain_is_a_share_of_what_was_before() {
        let blocks = [block([100.0, 100.0], [80.0, 80.0]); 3];
        let gain = |sense| judge(&blocks, sense).map(|judged| (judged.gain.share * 1e9).round() / 1e9);
        assert_eq!(gain(Sense::LessIsBetter), Some(0.2));
        assert_eq!(gain(Sense::MoreIsBetter), Some(-0.2));
    }

    #[test]
    fn equal_values_do_not_differ() {
        let blocks = [block([0.3, 0.7], [0.7, 0.3]), block([0.7, 0.3], [0.3, 0.7])];
        let judged = judge(&blocks, Sense::LessIsBetter).expect("two blocks");
        let none = Gain { share: 0.0, low: 0.0, high: 0.0 };
        assert_eq!((judged.gain, judged.verdict), (none, Verdict::NoDifference));
    }

    #[test]
    fn one_block_is_no_judgement() {
        assert_eq!(judge(&[block([1.0, 1.0], [1.0, 1.0])], Sense::LessIsBetter), None);
    }

    #[test]
    fn the_interval_is_students() {
        // Mean 2, standard deviation 1: 4.30265 / sqrt(3) to each side.
        let interval = Interval::of(&[1.0, 2.0, 3.0]).expect("three");
        assert!((interval.mean - 2.0).abs() < 1e-12 && (interval.half - 2.484_137).abs() < 1e-5);
    }

    /// Blocks of ABBA and BAAB by turns on a machine on which each run takes longer by this factor than the one before.
    fn drifting(factor: f64, gain: f64) -> Vec<Block> {
        let noise = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0];
        let run = |at: i32| 10.0 * factor.powi(at) * noise[at as usize % 6];
        let of = |number: i32| {
            let run = |place: i32| run(number * 4 + place);
            match number % 2 {
                0 => block([run(0), run(3)], [run(1) * (1.0 - gain), run(2) * (1.0 - gain)]),
                _ => block([run(1), run(2)], [run(0) * (1.0 - gain), run(3) * (1.0 - gain)]),
            }
        };
        (0..8).map(of).collect()
    }

    #[test]
    fn drift_withdraws_a_verdict_but_not_a_larger_gain() {
        let verdict = |factor, gain| {
            let judged = judge(&drifting(factor, gain), Sense::LessIsBetter).expect("blocks");
            (judged.verdict, judged.steady)
        };
        assert_eq!(verdict(1.0, 0.0), (Verdict::NoDifference, true));
        assert_eq!(verdict(1.03, 0.0), (Verdict::Unsteady, false));
        assert_eq!(verdict(1.03, 0.03), (Verdict::Unsteady, false));
        assert_eq!(verdict(1.03, 0.5), (Verdict::Faster, false));
        assert_eq!(verdict(1.03, -0.5), (Verdict::Slower, false));
    }

    #[test]
    fn a_width_beyond_the_whole_counts_as_a_part_of_the_gain() {
        let gain = |share| Gain { share, low: share - 0.02, high: share + 0.02 };
        assert!((gain(0.5).half_width() - 0.02).abs() < 1e-12);
        assert!((gain(-4.0).half_width() - 0.005).abs() < 1e-12);
    }

    #[test]
    fn blocks_that_agree_by_chance_are_not_narrow() {
        // The blocks' ratios agree, the runs of a command do not.
        let blocks = [block([1.0, 1.2], [1.2, 1.0]), block([1.2, 1.0], [1.0, 1.2])];
        assert!(!is_narrow(&blocks, Sense::LessIsBetter, 0.01));
        assert!(is_narrow(&[block([1.0, 1.0], [2.0, 2.0]); 2], Sense::LessIsBetter, 0.01));
        assert!(!is_narrow(&blocks[..1], Sense::LessIsBetter, 1.0));
    }
}
