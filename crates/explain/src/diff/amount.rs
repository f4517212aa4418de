//! A figure of one side or of both.

use serde::Serialize;
use trace::Ns;

/// A figure of the traces of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Amount {
    /// The median, ns.
    pub ns: Ns,
    /// The least of all traces, ns.
    pub least_ns: Ns,
    /// The most of all traces, ns.
    pub most_ns: Ns,
}

impl Amount {
    /// Amount of some traces; 0 without any.
    pub(super) fn of(mut figures: Vec<Ns>) -> Amount {
        figures.sort_unstable();
        let (Some(least_ns), Some(most_ns)) = (figures.first().copied(), figures.last().copied()) else {
            return Amount::default();
        };
        let (low, high) = (figures[(figures.len() - 1) / 2], figures[figures.len() / 2]);
        Amount { ns: low + (high - low) / 2, least_ns, most_ns }
    }
}

/// A figure of both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Change {
    /// Before.
    pub before: Amount,
    /// After.
    pub after: Amount,
    /// After less before, by their medians, ns.
    pub change_ns: Ns,
    /// Whether every trace of one side has more than every trace of the other one.
    pub beyond_spread: bool,
}

/// A change of one part in so many of a whole is noise: with one trace a side the spread from run to run is unknown. The same
/// part of a GPU's time is the smallest to which `holdup explain` gives a line.
const NOISE: Ns = 100;

impl Change {
    pub(super) fn new(before: Amount, after: Amount) -> Change {
        let change_ns = after.ns - before.ns;
        let beyond_spread = before.most_ns < after.least_ns || after.most_ns < before.least_ns;
        Change { before, after, change_ns, beyond_spread }
    }

    /// The change as a part of what was before; `None` if that was nothing.
    pub fn share(&self) -> Option<f64> {
        (self.before.ns > 0).then(|| self.change_ns as f64 / self.before.ns as f64)
    }

    /// The larger one of both, ns.
    pub fn larger_ns(&self) -> Ns {
        self.before.ns.max(self.after.ns)
    }

    /// Whether it is within the spread, or less than a hundredth of a whole, ns.
    pub(super) fn is_noise(&self, whole: Ns) -> bool {
        !self.beyond_spread || self.change_ns.abs() < whole / NOISE || self.change_ns == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &[Ns], after: &[Ns]) -> Change {
        Change::new(Amount::of(before.to_vec()), Amount::of(after.to_vec()))
    }

    #[test]
    fn an_amount_is_the_median() {
        assert_eq!(Amount::of(vec![30, 10, 20]), Amount { ns: 20, least_ns: 10, most_ns: 30 });
        assert_eq!(Amount::of(vec![40, 10, 20, 30]).ns, 25);
        assert_eq!(Amount::of(vec![]), Amount::default());
    }

    #[test]
    fn a_change_within_the_spread_is_noise() {
        assert!(change(&[100, 120], &[110, 130]).is_noise(1000));
        assert!(!change(&[100, 120], &[130, 140]).is_noise(1000));
        assert!(change(&[100], &[109]).is_noise(1000), "less than a hundredth");
        assert!(!change(&[100], &[110]).is_noise(1000));
        assert!(change(&[0], &[0]).is_noise(0));
    }

    #[test]
    fn a_share_is_of_what_was_before() {
        assert_eq!(change(&[100], &[112]).share(), Some(0.12));
        assert_eq!(change(&[0], &[112]).share(), None);
    }
}
