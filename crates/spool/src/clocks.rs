//! From the ticks that records are timed with to nanoseconds.

use crate::Clock;
use std::ops::RangeInclusive;

/// A moment's two readings are some 50 ns apart: between pairs that are closer than this, their rate
/// would be off by more than what the kernel ever changes it (500 ppm).
const APART: i64 = 1_000_000;

/// Length of the interval whose rate applies outside of all pairs, ns: that rate is off by less
/// than 1 ppm.
const LONG: i64 = 1_000_000_000;

/// The pairs of clock readings in a file.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// Each later than the one before it, on both clocks.
    pairs: Vec<Clock>,
    /// The pair until which what lies before the first goes on.
    head: usize,
    /// The pair from which on what lies behind the last goes on.
    tail: usize,
}

impl FromIterator<Clock> for Clocks {
    fn from_iter<I: IntoIterator<Item = Clock>>(pairs: I) -> Clocks {
        let pairs = in_order(pairs.into_iter().collect());
        let last = pairs.len().saturating_sub(1);
        let far = |from: usize, to: usize| pairs[to].ns.saturating_sub(pairs[from].ns) >= LONG;
        let head = (0..last).find(|at| far(0, *at)).unwrap_or(last);
        let tail = (0..last).rev().find(|at| far(*at, last)).unwrap_or(0);
        Clocks { pairs, head, tail }
    }
}

/// Pairs in order of time, without those that contradict an earlier one or lie close to another.
fn in_order(mut pairs: Vec<Clock>) -> Vec<Clock> {
    pairs.sort_unstable_by_key(|pair| (pair.ticks, pair.ns));
    let mut kept: Vec<Clock> = Vec::new();
    for pair in pairs {
        if kept.last().is_some_and(|last| pair.ticks <= last.ticks || pair.ns <= last.ns) {
            continue;
        }
        // Of pairs that lie close together, the first stays, and the very last.
        if let [.., before, last] = kept[..]
            && last.ns.saturating_sub(before.ns) < APART
        {
            kept.pop();
        }
        kept.push(pair);
    }
    kept
}

impl Clocks {
    /// Time of `CLOCK_MONOTONIC`, ns; the ticks themselves where nothing is known of them. Later
    /// ticks are never earlier nanoseconds.
    pub fn ns(&self, ticks: i64) -> i64 {
        self.ns_near(ticks, &mut 0)
    }

    /// Like [`Clocks::ns`], but faster if the ticks lie between the same pairs as the last ones that came with `near`.
    #[inline]
    pub fn ns_near(&self, ticks: i64, near: &mut usize) -> i64 {
        if let Some([from, to]) = self.pairs.get(*near..).and_then(|pairs| pairs.first_chunk())
            && (from.ticks..to.ticks).contains(&ticks)
        {
            return between(from, to, from, ticks);
        }
        self.ns_anywhere(ticks, near)
    }

    fn ns_anywhere(&self, ticks: i64, near: &mut usize) -> i64 {
        let Some(last) = self.pairs.len().checked_sub(1) else { return ticks };
        match self.pairs.partition_point(|pair| pair.ticks <= ticks) {
            0 => self.along(0..=self.head, 0, ticks),
            behind if behind > last => self.along(self.tail..=last, last, ticks),
            behind => {
                *near = behind - 1;
                self.along(behind - 1..=behind, behind - 1, ticks)
            }
        }
    }

    /// So many ticks as nanoseconds, whenever they passed.
    pub fn duration(&self, ticks: i64) -> i64 {
        let from = self.pairs.first().map_or(0, |pair| pair.ticks);
        self.ns(from.saturating_add(ticks)).saturating_sub(self.ns(from))
    }

    /// On the line through the pair `at` at the rate of an interval between two pairs.
    fn along(&self, interval: RangeInclusive<usize>, at: usize, ticks: i64) -> i64 {
        between(&self.pairs[*interval.start()], &self.pairs[*interval.end()], &self.pairs[at], ticks)
    }
}

/// On the line through the pair `at` at the rate of the interval between two others.
#[inline]
fn between(from: &Clock, to: &Clock, at: &Clock, ticks: i64) -> i64 {
    // Mostly all fits 64 bits, whose division is ten times as fast.
    let short = || {
        let (passed, run) = (ticks.checked_sub(at.ticks)?, to.ticks.checked_sub(from.ticks)?);
        let passed = passed.checked_mul(to.ns.checked_sub(from.ns)?)?;
        at.ns.checked_add(passed.checked_div_euclid(run)?)
    };
    short().unwrap_or_else(|| wide(from, to, at, ticks))
}

#[cold]
fn wide(from: &Clock, to: &Clock, at: &Clock, ticks: i64) -> i64 {
    let wide = i128::from;
    let passed = wide(ticks) - wide(at.ticks);
    let passed = match wide(to.ticks) - wide(from.ticks) {
        // A pair alone says no rate.
        0 => passed,
        run => passed.saturating_mul(wide(to.ns) - wide(from.ns)).div_euclid(run),
    };
    wide(at.ns).saturating_add(passed).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
