//! The results of an experiment: rows of figures, with where and how they were measured.

mod baseline;
mod figure;
mod judged;
mod merge;
mod partial;
mod read;
mod row;
mod write;

pub use baseline::{Change, Comparison};
pub use figure::Figure;
pub(crate) use figure::six_digits;
pub(crate) use judged::{differ, ending};
pub(crate) use merge::Part;
pub use partial::Partial;
pub use row::Row;
pub(crate) use row::most;
pub use write::json;
pub(crate) use write::number;

pub use crate::experiment::Results;

use crate::experiment::Cell;

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
