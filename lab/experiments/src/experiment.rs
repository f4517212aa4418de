//! What an experiment is: data, and functions of data.

use crate::{Cell, Figure, Parameter, Results, Row, Settings};
use report::plot::Chart;
use workload::{Outcome, Workload};

/// An experiment of the catalogue.
pub struct Experiment {
    /// Its name, as in `launch-stall`.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// How often a GPU runs each variant, after once for nothing where `warm_up` says so.
    pub rounds: u32,
    /// Whether the first run of a variant is thrown away.
    pub warm_up: bool,
    /// The variants that settings make on a device.
    pub variants: fn(&Settings, &Bench) -> Result<Plan, String>,
    /// What each row is compared with, of an experiment whose rows say how many times as long something takes as in
    /// another.
    pub relation: Option<Relation>,
    /// What the numbers say, a sentence each.
    pub verdict: fn(&Results) -> Vec<String>,
    /// What the plot shows.
    pub chart: fn(&Results) -> Chart,
    /// How text shows the rows.
    pub view: View,
    /// How often a variant does the same in its trace, of an experiment that is about what happens when; the last time is
    /// drawn.
    pub timelines: Option<fn(&Settings) -> u64>,
    /// Whether the results themselves are among what it shows: whether they were right, and that a model computes none.
    pub checked: bool,
    /// The rows whose calls' mean times text and plot show, of an experiment that measures them.
    pub averages: Option<fn(&Row) -> bool>,
}

/// How rows relate to one that is the same but for some columns.
pub struct Relation {
    /// The column by which that one is known, and what it says there.
    pub base: (&'static str, &'static str),
    /// The columns in which the others may differ from it.
    pub but: &'static [&'static str],
    /// A row's figure that follows from the two, the row's own and that of its base.
    pub figure: fn(&Row, &Row) -> Option<Figure>,
}

impl Relation {
    /// Whether what varies so is what the other is compared with.
    pub(crate) fn is_base(&self, base: &Varied, of: &Varied) -> bool {
        let (column, value) = self.base;
        let is_one = base.iter().any(|(name, cell)| *name == column && cell.to_string() == value);
        is_one && are_alike(base, of, self.but)
    }

    /// Adds the figure to each row whose base is there.
    pub fn relate(&self, rows: &mut [Row]) {
        let figure = |row: &Row| {
            let base = rows.iter().find(|other| self.is_base(&other.varied, &row.varied))?;
            (self.figure)(row, base)
        };
        let figures: Vec<Option<Figure>> = rows.iter().map(figure).collect();
        for (row, figure) in rows.iter_mut().zip(figures) {
            row.figures.extend(figure);
        }
    }
}

/// What a variant or a row varies, by the columns' names.
pub(crate) type Varied = [(&'static str, Cell)];

/// Whether two vary the same except for those columns.
pub(crate) fn are_alike(one: &Varied, other: &Varied, but: &[&str]) -> bool {
    let others = |varied: &'_ Varied| -> Vec<(&'static str, Cell)> {
        varied.iter().filter(|(name, _)| !but.contains(name)).cloned().collect()
    };
    others(one) == others(other)
}

/// How text shows rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// A table with bars.
    Table,
    /// What a column does, its values side by side, and the columns that follow from it.
    Across(&'static str, &'static [&'static str]),
    /// The numbers of the heat map.
    Matrix,
    /// A table, and the calls and GPU operations of each variant.
    Listings,
}

/// The device that variants run on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bench {
    /// Its name.
    pub name: String,
    /// How many of them there are.
    pub gpus: u32,
    /// The driver's version, where it is known.
    pub driver: Option<String>,
    /// Its copy engines, where that is known.
    pub copy_engines: Option<u32>,
    /// Whether streams have queues of their own (Hyper-Q), where that is known; else engines take work as it was issued.
    pub own_queues: Option<bool>,
    /// Whether kernels of several streams that were issued back to back signal their ends together, where that is known.
    pub joint_signals: Option<bool>,
    /// Whether it is a model.
    pub simulated: bool,
}

impl Bench {
    /// `NVIDIA H200, driver 580.159`
    pub fn title(&self) -> String {
        let driver = self.driver.as_ref().map(|driver| format!(", driver {driver}")).unwrap_or_default();
        format!("{}{driver}", self.name)
    }
}

/// What is going to be run.
#[derive(Default)]
pub struct Plan {
    /// In the order of rows.
    pub variants: Vec<Variant>,
    /// What was asked for and cannot be had, a line each.
    pub left_out: Vec<String>,
}

/// Something to be run, and what to read from its outcome.
pub struct Variant {
    /// What distinguishes it, by the names of the row's columns.
    pub varied: Vec<(&'static str, Cell)>,
    /// What is run.
    pub workload: Workload,
    /// Whether reading needs the times of calls; taking them costs some 40 ns each.
    pub timed: bool,
    /// Whether it is run once more for the mean times of its calls, which its one row has then.
    pub averages: bool,
    /// Of a model whose GPUs share a lock: how long handing it over takes, in percent of what the model says; 0 where it
    /// is not shared yet. Nothing else knows it.
    pub contention: Option<u32>,
    /// The rows of one outcome; always as many.
    pub read: Read,
}

/// Makes rows of an outcome.
pub type Read = Box<dyn Fn(&Outcome) -> Vec<Reading>>;

/// A row of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// What distinguishes the row from others of its variant.
    pub also: Vec<(&'static str, Cell)>,
    /// What was measured, the most important figure first.
    pub figures: Vec<(&'static str, f64)>,
    /// The largest difference from what was expected, where that was checked.
    pub max_error: Option<f64>,
    /// The same of each worker, where that is told.
    pub each: Vec<Reading>,
}

impl Variant {
    /// What it is called in messages and on the command line: `variant=threads,workers=8`.
    pub fn label(&self) -> String {
        label(&self.varied)
    }

    /// Whether it is as all of these say.
    pub(crate) fn matches(&self, wanted: &[(String, String)]) -> bool {
        let is = |(name, value): &(String, String)| {
            self.varied.iter().any(|(own, cell)| own == name && cell.to_string() == *value)
        };
        wanted.iter().all(is)
    }
}

/// `variant=threads,workers=8`
pub(crate) fn label(varied: &[(&'static str, Cell)]) -> String {
    varied.iter().map(|(name, cell)| format!("{name}={cell}")).collect::<Vec<_>>().join(",")
}

/// The largest error of an outcome's threads.
pub(crate) fn max_error(outcome: &Outcome) -> Option<f64> {
    outcome.threads.iter().filter_map(|thread| thread.max_error).reduce(f64::max)
}
