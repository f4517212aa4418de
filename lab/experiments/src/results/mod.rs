//! The results of an experiment: rows of figures, with where and how they were measured.

mod baseline;
mod judged;
mod merge;
mod read;
mod write;

pub use baseline::{Change, Comparison};
pub(crate) use judged::ending;
pub(crate) use merge::Part;
pub use write::json;
pub(crate) use write::number;

use crate::experiment::{Bench, Cell, Experiment, Settings, are_alike};

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

/// One row: what it varies and what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Values that it varies, by column.
    pub varied: Vec<(&'static str, Cell)>,
    /// The figures, the most important first.
    pub figures: Vec<Figure>,
    /// The largest difference from the expected result, if that was checked.
    pub max_error: Option<f64>,
    /// The same for each worker, if the experiment reads it.
    pub each: Vec<Row>,
}

impl Row {
    /// The value of the column of that name.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.varied.iter().find(|(own, _)| *own == name).map(|(_, cell)| cell)
    }

    /// The same as text; empty if the row does not have the column.
    pub fn text(&self, name: &str) -> String {
        self.cell(name).map(Cell::to_string).unwrap_or_default()
    }

    /// The same if it is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.cell(name) {
            Some(Cell::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The figure of that name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// The value of that figure; NaN if the row does not have it.
    pub fn value(&self, name: &str) -> f64 {
        self.figure(name).map_or(f64::NAN, |figure| figure.value)
    }

    /// Whether it has all of these values.
    pub fn is(&self, wanted: &[(&str, Cell)]) -> bool {
        wanted.iter().all(|(name, cell)| self.cell(name) == Some(cell))
    }

    /// Whether it is equal to another in what it varies, except in those columns.
    pub fn is_like(&self, other: &Row, but: &[&str]) -> bool {
        are_alike(&self.varied, &other.varied, but)
    }
}

/// Why the results are incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Reason for the end of the run.
    pub why: String,
    /// Variants that were not run.
    pub missing: usize,
    /// Variants that lack rounds, the times of their calls or their trace.
    pub incomplete: usize,
    /// Variants that were to be run.
    pub of: usize,
}

impl std::fmt::Display for Partial {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Partial { why, missing, incomplete, of } = self;
        write!(to, "{why}; the results are partial: ")?;
        match (missing, incomplete) {
            (_, 0) => write!(to, "{missing} of {of} variants are missing"),
            (0, _) => write!(to, "{incomplete} of {of} variants are incomplete"),
            _ => write!(to, "{missing} of {of} variants are missing, and {incomplete} more incomplete"),
        }
    }
}

/// The results of an experiment on a device.
pub struct Results {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// The device.
    pub bench: Bench,
    /// The settings.
    pub settings: Settings,
    /// Number of rounds per row.
    pub rounds: u32,
    /// The rows.
    pub rows: Vec<Row>,
    /// Values and variants that the device could not run, one line each.
    pub left_out: Vec<String>,
    /// Remarks on the figures, one line each.
    pub notes: Vec<String>,
    /// Why rows are missing, if some are.
    pub partial: Option<Partial>,
    /// Whether traces were requested.
    pub traced: bool,
    /// The label of each variant and the trace of its additional run, if traces were requested.
    pub traces: Vec<(String, trace::Trace)>,
}

impl Results {
    /// The plot.
    pub fn plot(&self) -> report::plot::Plot {
        let title = format!("{}: {}", self.experiment.name, self.experiment.about);
        report::plot::Plot { title, subtitle: self.place(), chart: (self.experiment.chart)(self) }
    }

    /// `NVIDIA H200, driver 580.159 · 3 rounds`
    pub fn place(&self) -> String {
        let how = match self.bench.simulated {
            true => String::from("simulated"),
            false if self.rounds < 2 => String::from("1 round"),
            false if self.settings.takes_best() => {
                format!("best of {} rounds, ± half of their range", self.rounds)
            }
            false => format!("{} rounds, ± half of their range", self.rounds),
        };
        let judged = if self.is_judged() { ", intervals of 95 %" } else { "" };
        format!("{} · {how}{judged}", self.bench.title())
    }

    /// The sentences of the verdict.
    pub fn verdict(&self) -> Vec<String> {
        let mut sentences = (self.experiment.verdict)(self);
        let worst = self.rows.iter().filter_map(|row| row.max_error).reduce(f64::max);
        match worst {
            Some(0.0) => sentences.push(String::from("Every result was right.")),
            Some(error) => sentences.push(format!("The largest error of a result was {error:.1e}.")),
            None if self.experiment.checked && self.bench.simulated && !sentences.is_empty() => {
                sentences.push(String::from("No result was computed: a model has only times."));
            }
            None => {}
        }
        if sentences.is_empty() {
            sentences.push(String::from("Too few variants ran for a verdict."));
        }
        sentences
    }

    /// The first row that has all of these values.
    pub fn row(&self, wanted: &[(&str, Cell)]) -> Option<&Row> {
        self.rows.iter().find(|row| row.is(wanted))
    }

    /// Pairs of rows that differ in one column only, in which they have `from` and `to`.
    pub fn pairs<'a>(
        &'a self,
        column: &'a str,
        from: Cell,
        to: Cell,
    ) -> impl Iterator<Item = (&'a Row, &'a Row)> {
        self.rows.iter().filter(move |row| row.cell(column) == Some(&from)).filter_map(move |row| {
            let is_other = |other: &&Row| other.cell(column) == Some(&to) && other.is_like(row, &[column]);
            self.rows.iter().find(is_other).map(|other| (row, other))
        })
    }

    /// Whether the spread of any row's first figure is known and shown. A model's is always 0 and not shown.
    pub(crate) fn has_spread(&self) -> bool {
        let is_known = |row: &Row| row.figures.first().is_some_and(|first| first.spread.is_some());
        !self.bench.simulated && self.rows.iter().any(is_known)
    }

    /// Whether rows have enough rounds to be judged.
    fn is_judged(&self) -> bool {
        let is_one = |figure: &Figure| figure.samples.len() >= prove::Plan::FEWEST_ROUNDS;
        self.rows.iter().flat_map(|row| &row.figures).any(is_one)
    }

    /// The names of the columns that differ between rows, and the columns that are the same in all, each in the rows' order.
    pub fn columns(&self) -> (Vec<&'static str>, Vec<(&'static str, Cell)>) {
        let Some(first) = self.rows.first() else { return Default::default() };
        let same = |name: &str| self.rows.iter().all(|row| row.cell(name) == first.cell(name));
        let (fixed, varying): (Vec<_>, Vec<_>) =
            first.varied.iter().cloned().partition(|(name, _)| *name != "variant" && same(name));
        (varying.into_iter().map(|(name, _)| name).collect(), fixed)
    }
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

    /// Whether it differs from another, as their samples show. With too few of them, by more than both spreads together and by
    /// more than 2 %; after one round, by more than the part `one_round`.
    pub(crate) fn differs(&self, other: &Figure, one_round: f64) -> bool {
        // Whether more is better does not matter here.
        if let Some(judged) = self.since(other, prove::judge::Sense::LessIsBetter) {
            return judged::is_shown(&judged);
        }
        let (spread, least) = match self.spread.zip(other.spread) {
            Some((own, others)) => (own + others, 0.02),
            None => (0.0, one_round),
        };
        let apart = (self.value - other.value).abs();
        apart > spread && apart > least * self.value.abs().min(other.value.abs())
    }
}

/// The least relative difference that counts between figures of one run with only one round: rounds of threads on an H200
/// differed by up to 12 %.
const ONE_ROUND: f64 = 0.12;

/// Whether two figures of one run differ.
pub(crate) fn differ(a: &Figure, b: &Figure) -> bool {
    a.differs(b, ONE_ROUND)
}

/// The row with the largest figure of that name.
pub(crate) fn most<'a>(rows: impl IntoIterator<Item = &'a Row>, figure: &str) -> Option<&'a Row> {
    let measured = rows.into_iter().filter(|row| !row.value(figure).is_nan());
    measured.reduce(|best, row| if row.value(figure) > best.value(figure) { row } else { best })
}
