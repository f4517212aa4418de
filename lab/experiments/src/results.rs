//! What an experiment measured.

use crate::experiment::are_alike;
use crate::{Bench, Cell, Experiment};

/// What is known of a row's figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name, which says its unit: see [`Unit::of`].
    pub name: &'static str,
    /// The median of the rounds, or what the best of them has.
    pub value: f64,
    /// Half of the range of the rounds; nothing is known of it after one round on a machine. A model's is 0.
    pub spread: Option<f64>,
}

/// Units of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds: less is better.
    Milliseconds,
    /// How many a second: more is better.
    PerSecond,
    /// GB/s: more is better.
    Throughput,
    /// A part of 1: less is better.
    Share,
    /// How many times as much: less is better.
    Times,
    /// 10⁹ floating-point operations a second: more is better.
    Flops,
}

impl Unit {
    /// The unit of figures of that name.
    pub fn of(name: &str) -> Unit {
        match name {
            "gb_per_s" => Unit::Throughput,
            "gflop_per_s" => Unit::Flops,
            name if name.ends_with("per_s") => Unit::PerSecond,
            name if name.ends_with("share") => Unit::Share,
            name if name.ends_with("slowdown") => Unit::Times,
            _ => Unit::Milliseconds,
        }
    }

    /// Whether more is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Unit::PerSecond | Unit::Throughput | Unit::Flops)
    }

    /// The number with its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Unit::Milliseconds => report::units::duration((value * 1e6).round() as i64),
            Unit::PerSecond => format!("{}/s", digits(value)),
            Unit::Throughput => format!("{} GB/s", digits(value)),
            Unit::Share => report::units::percent(value),
            Unit::Times => format!("{}×", digits(value)),
            Unit::Flops => format!("{} GFlop/s", digits(value)),
        }
    }
}

/// Three digits, or all of a larger number.
fn digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => report::units::count(value.round() as u64),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// One row: what it varied and what it measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it varied, by the columns' names.
    pub varied: Vec<(&'static str, Cell)>,
    /// What was measured, the most important figure first.
    pub figures: Vec<Figure>,
    /// The largest difference from what was expected, where that was checked.
    pub max_error: Option<f64>,
    /// The same of each worker, where that is told.
    pub each: Vec<Row>,
}

impl Row {
    /// What it says under that name.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.varied.iter().find(|(own, _)| *own == name).map(|(_, cell)| cell)
    }

    /// The same as text, empty where there is none.
    pub fn text(&self, name: &str) -> String {
        self.cell(name).map(Cell::to_string).unwrap_or_default()
    }

    /// The same where it is a number.
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

    /// Its value; not a number where there is none.
    pub fn value(&self, name: &str) -> f64 {
        self.figure(name).map_or(f64::NAN, |figure| figure.value)
    }

    /// Whether it says all of this.
    pub fn is(&self, wanted: &[(&str, Cell)]) -> bool {
        wanted.iter().all(|(name, cell)| self.cell(name) == Some(cell))
    }

    /// Whether it varies the same as another except for those columns.
    pub fn is_like(&self, other: &Row, but: &[&str]) -> bool {
        are_alike(&self.varied, &other.varied, but)
    }
}

/// Why an experiment came to no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// What ended it.
    pub why: String,
    /// Variants that were not run.
    pub missing: usize,
    /// Variants that were to be run.
    pub of: usize,
}

impl std::fmt::Display for Partial {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            to,
            "{}; the results are partial: {} of {} variants are missing",
            self.why, self.missing, self.of
        )
    }
}

/// What an experiment measured on a device.
pub struct Results {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// Where.
    pub bench: Bench,
    /// What was set.
    pub settings: crate::Settings,
    /// Runs that each row is the median of.
    pub rounds: u32,
    /// The rows.
    pub rows: Vec<Row>,
    /// What was asked for and could not be had.
    pub left_out: Vec<String>,
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
    /// Why these are not all, if they are not.
    pub partial: Option<Partial>,
    /// Whether traces were asked for.
    pub traced: bool,
    /// The trace of one more run, with the name of its variant, for each variant where they were asked for.
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
        format!("{} · {how}", self.bench.title())
    }

    /// What the numbers say, a sentence each.
    pub fn verdict(&self) -> Vec<String> {
        let mut sentences = (self.experiment.verdict)(self);
        let worst = self.rows.iter().filter_map(|row| row.max_error).reduce(f64::max);
        match worst {
            Some(0.0) => sentences.push(String::from("Every result was right.")),
            Some(error) => sentences.push(format!("The largest error of a result was {error:.1e}.")),
            None if self.experiment.checked && self.bench.simulated && !sentences.is_empty() => {
                sentences.push(String::from("No result was computed: a model knows times alone."));
            }
            None => {}
        }
        if sentences.is_empty() {
            sentences.push(String::from("Too few variants were run to say anything."));
        }
        sentences
    }

    /// The first row that says all of this.
    pub fn row(&self, wanted: &[(&str, Cell)]) -> Option<&Row> {
        self.rows.iter().find(|row| row.is(wanted))
    }

    /// Pairs of rows that differ in one column alone, where it is `from` and `to`.
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

    /// Whether of any row's first figure it is known what rounds differ by; of a model's that they do not goes without saying.
    pub(crate) fn has_spread(&self) -> bool {
        let known = |row: &Row| row.figures.first().is_some_and(|first| first.spread.is_some());
        !self.bench.simulated && self.rows.iter().any(known)
    }

    /// The columns that rows vary, and those that are the same in all of them, each in the rows' order.
    pub fn columns(&self) -> (Vec<&'static str>, Vec<(&'static str, Cell)>) {
        let Some(first) = self.rows.first() else { return Default::default() };
        let same = |name: &str| self.rows.iter().all(|row| row.cell(name) == first.cell(name));
        let (fixed, varying): (Vec<_>, Vec<_>) =
            first.varied.iter().cloned().partition(|(name, _)| *name != "variant" && same(name));
        (varying.into_iter().map(|(name, _)| name).collect(), fixed)
    }
}

/// A figure has six digits, more than any measurement: it is told the same again when it was written down and read.
pub(crate) fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

impl Figure {
    /// A figure of six digits.
    pub(crate) fn new(name: &'static str, value: f64, spread: Option<f64>) -> Figure {
        Figure { name, value: six_digits(value), spread: spread.map(six_digits) }
    }

    /// How many times as much it is as another, with what the spread of both makes of it.
    pub(crate) fn over(&self, name: &'static str, other: &Figure) -> Figure {
        let relative = |figure: &Figure| figure.spread.map(|spread| spread / figure.value);
        let value = self.value / other.value;
        let spread = relative(self).zip(relative(other)).map(|(own, others)| value * (own + others));
        Figure::new(name, value, spread)
    }

    /// Whether it differs from another by more than the rounds of both do, and by more than 2 %; where there was one round,
    /// by more than the part `one_round` of it.
    pub(crate) fn differs(&self, other: &Figure, one_round: f64) -> bool {
        let (spread, least) = match self.spread.zip(other.spread) {
            Some((own, others)) => (own + others, 0.02),
            None => (0.0, one_round),
        };
        let apart = (self.value - other.value).abs();
        apart > spread && apart > least * self.value.abs().min(other.value.abs())
    }
}

/// The part that two figures of one run differ by at least if only one round tells of either: rounds of threads on an H200
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
