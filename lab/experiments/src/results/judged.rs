//! Whether figures differ, by the samples of their rounds: `prove` judges them where there are enough.

use super::figure::Figure;
use super::row::Row;
use crate::experiment::Unit;
use prove::judge::{Block, Judgement, Sense, Verdict, judge};

/// The end of sentences for a gain and for a loss.
const WORDS: [&str; 2] = ["a gain of", "a loss of"];

impl Figure {
    /// Judges the change from `before` to this figure by the samples of both. Two rounds make a block: the variants took
    /// turns in it, so that what the machine did then cancels.
    ///
    /// `None` with fewer than four rounds of either, or if a value is not above 0: it has no logarithm.
    pub(crate) fn since(&self, before: &Figure, sense: Sense) -> Option<Judgement> {
        let is_judged = |value: &f64| value.is_finite() && *value > 0.0;
        let (old, new) = (before.samples.as_slice(), self.samples.as_slice());
        let pairs = old.chunks_exact(2).zip(new.chunks_exact(2));
        let blocks: Vec<Block> =
            pairs.map(|(old, new)| Block { before: [old[0], old[1]], after: [new[0], new[1]] }).collect();
        old.iter().chain(new).all(is_judged).then(|| judge(&blocks, sense)).flatten()
    }

    /// Its interval, if it has one: `1.21× to 1.27×`.
    pub(crate) fn interval_text(&self, unit: Unit) -> Option<String> {
        self.interval.map(|[low, high]| format!("{} to {}", unit.text(low), unit.text(high)))
    }

    /// The interval of 95 % of its ratio to another figure; none to itself.
    pub(super) fn ratio_interval(&self, other: &Figure) -> Option<[f64; 2]> {
        if std::ptr::eq(self, other) {
            return None;
        }
        // The share that is gained where less is better is what the ratio lacks to 1.
        let gain = self.since(other, Sense::LessIsBetter)?.gain;
        Some([1.0 - gain.high, 1.0 - gain.low])
    }

    /// Whether it differs from another, as their samples show. With too few of them, by more than both spreads together and by
    /// more than 2 %; after one round, by more than the part `one_round`.
    pub(crate) fn differs(&self, other: &Figure, one_round: f64) -> bool {
        // Whether more is better does not matter here.
        if let Some(judged) = self.since(other, Sense::LessIsBetter) {
            return is_shown(&judged);
        }
        let (spread, least) = match self.spread.zip(other.spread) {
            Some((own, others)) => (own + others, 0.02),
            None => (0.0, one_round),
        };
        let apart = (self.value - other.value).abs();
        apart > spread && apart > least * self.value.abs().min(other.value.abs())
    }
}

/// Whether a judgement shows that two figures differ.
pub(super) fn is_shown(judged: &Judgement) -> bool {
    matches!(judged.verdict, Verdict::Faster | Verdict::Slower)
}

/// The least relative difference that counts between figures of one run with only one round: rounds of threads on an H200
/// differed by up to 12 %.
const ONE_ROUND: f64 = 0.12;

/// Whether two figures of one run differ.
pub(crate) fn differ(a: &Figure, b: &Figure) -> bool {
    a.differs(b, ONE_ROUND)
}

/// Change that a judgement shows: `a gain of 38.0 % (36.5 % to 39.4 %)`.
pub(crate) fn words(judged: &Judgement) -> String {
    let [gain, loss] = WORDS;
    report::prove::judged(judged, gain, loss)
}

/// Change that the samples of two rows show, as the end of a sentence: `; a gain of 38.0 % (36.5 % to 39.4 %)`. It is empty
/// where they cannot be judged.
pub(crate) fn ending(before: &Row, after: &Row, (figure, unit): (&str, Unit)) -> String {
    let figures = before.figure(figure).zip(after.figure(figure));
    let judged = figures.and_then(|(before, after)| after.since(before, unit.sense()));
    judged.map_or(String::new(), |judged| format!("; {}", words(&judged)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rate's samples; each round is a few percent off.
    fn rate(per_s: f64, off: [f64; 6]) -> Figure {
        Figure::of_rounds("per_s", off.map(|off| per_s * (1.0 + off / 100.0)).to_vec())
    }

    const OFF: [[f64; 6]; 2] = [[0.0, 1.0, 0.5, -1.0, 0.2, -0.5], [0.3, -0.8, 0.9, -0.4, 0.1, -0.2]];

    #[test]
    fn a_gain_is_shown_and_equal_rates_are_not_told_apart() {
        let before = rate(100.0, OFF[0]);
        let judged = |figure: &Figure| figure.since(&before, Sense::MoreIsBetter).expect("six rounds");
        let faster = judged(&rate(120.0, OFF[1]));
        assert!(is_shown(&faster) && (faster.gain.low..faster.gain.high).contains(&0.2), "{faster:?}");
        assert!(words(&faster).starts_with("a gain of "), "{}", words(&faster));
        assert!(words(&judged(&rate(80.0, OFF[1]))).starts_with("a loss of 20"));
        // The same variant again, and one that is faster by less than rounds differ.
        for near in [rate(100.0, OFF[1]), rate(100.3, OFF[1])] {
            assert!(!is_shown(&judged(&near)), "{near:?}");
            assert!(words(&judged(&near)).starts_with("no difference shown: at most "));
        }
    }

    #[test]
    fn too_few_rounds_and_values_without_a_logarithm_are_not_judged() {
        let of = |samples: &[f64]| Figure::of_rounds("ms", samples.to_vec());
        let six = of(&[1.0, 1.1, 1.0, 1.1, 1.0, 1.1]);
        for (count, is_judged) in [(0, false), (1, false), (3, false), (4, true), (5, true)] {
            let fewer = of(&six.samples[..count]);
            assert_eq!(fewer.since(&six, Sense::LessIsBetter).is_some(), is_judged, "{count}");
            assert_eq!(six.since(&fewer, Sense::LessIsBetter).is_some(), is_judged, "{count}");
            assert_eq!(fewer.over("slowdown", &six).interval.is_some(), is_judged, "{count}");
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let samples = of(&[1.0, 1.1, bad, 1.1]);
            assert_eq!(samples.since(&six, Sense::LessIsBetter), None, "{bad}");
        }
    }

    #[test]
    fn a_ratio_has_the_interval_of_the_change() {
        let (one, all) = (rate(100.0, OFF[0]), rate(150.0, OFF[1]));
        let ratio = all.over("slowdown", &one);
        let [low, high] = ratio.interval.expect("six rounds");
        assert!(1.47 < low && low < 1.5 && 1.5 < high && high < 1.53, "{low} to {high}");
        assert_eq!(ratio.samples.len(), 6);
        assert!((ratio.samples[1] - 150.0 * 0.992 / 101.0).abs() < 1e-4, "{ratio:?}");
    }
}
