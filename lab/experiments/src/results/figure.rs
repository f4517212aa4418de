//! A figure of a row, with the samples of its rounds.

/// A figure of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its column's name.
    pub name: &'static str,
    /// The median of the rounds, or the value of the best round.
    pub value: f64,
    /// Half of the range of the rounds; unknown after one round on a GPU, 0 on a model.
    pub spread: Option<f64>,
    /// The value of each round on a GPU, in the order of the rounds; empty on a model, and where it is unknown.
    pub samples: Vec<f64>,
    /// Both ends of the interval of 95 % of a figure that compares two rows, if they have enough rounds to be judged.
    pub interval: Option<[f64; 2]>,
}

/// Rounds a figure to six digits, more than any measurement has, so that reading what was written gives the same figure.
pub(crate) fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

impl Figure {
    /// A figure of six digits that was measured once.
    pub fn new(name: &'static str, value: f64, spread: Option<f64>) -> Figure {
        let (value, spread) = (six_digits(value), spread.map(six_digits));
        Figure { name, value, spread, samples: Vec::new(), interval: None }
    }

    /// The median of its rounds' values, and half of their range if there are several.
    pub fn of_rounds(name: &'static str, mut values: Vec<f64>) -> Figure {
        let samples = values.iter().copied().map(six_digits).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() {
            0 => f64::NAN,
            count if count % 2 == 1 => values[middle],
            _ => (values[middle - 1] + values[middle]) / 2.0,
        };
        let range = values.last().unwrap_or(&0.0) - values.first().unwrap_or(&0.0);
        let spread = (values.len() > 1).then_some(range / 2.0);
        Figure { samples, ..Figure::new(name, median, spread) }
    }

    /// Its ratio to another figure; the relative spreads add up. Rounds of the same number are divided.
    pub(crate) fn over(&self, name: &'static str, other: &Figure) -> Figure {
        let relative = |figure: &Figure| figure.spread.map(|spread| spread / figure.value);
        let value = self.value / other.value;
        let spread = relative(self).zip(relative(other)).map(|(own, others)| value * (own + others));
        let samples = self.samples.iter().zip(&other.samples).map(|(own, others)| six_digits(own / others));
        let interval = self.ratio_interval(other).map(|ends| ends.map(six_digits));
        Figure { samples: samples.collect(), interval, ..Figure::new(name, value, spread) }
    }
}
