//! Definition of an experiment: data, and functions of data.

mod cell;
pub(crate) mod choices;
mod column;
mod parameters;
mod varied;

pub use cell::Cell;
pub use choices::{HostMemory, Layout, Near, Place, Submit, Take, Waiting, Word};
pub use column::{Column, Holds, Unit, Values};
pub use parameters::{AUTOMATIC, Kind, Parameter, Settings};
pub(crate) use varied::{Varied, are_alike};

use crate::results::{Figure, Partial, Row};
use report::plot::Chart;
use workload::{Outcome, Workload};

/// An experiment of the catalogue.
pub struct Experiment {
    /// Its name, as in `launch-stall`.
    pub name: &'static str,
    /// Subject in one line.
    pub about: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// Parameters that can be set.
    pub parameters: &'static [Parameter],
    /// The columns of its rows, and of what they have of each worker, in the order that rows have them.
    pub columns: &'static [Column],
    /// Runs per variant on a GPU, after a warm-up if `warm_up` is set.
    pub rounds: u32,
    /// Whether the first run of a variant is a warm-up that is not counted.
    pub warm_up: bool,
    /// The variants of these settings on a device.
    pub variants: fn(&Settings, &Bench) -> Result<Plan, String>,
    /// How each row relates to another, if a figure of the experiment compares two rows.
    pub relation: Option<Relation>,
    /// The sentences of the verdict.
    pub verdict: fn(&Results) -> Vec<String>,
    /// The plot.
    pub chart: fn(&Results) -> Chart,
    /// How text shows the rows.
    pub view: View,
    /// The number of times that a variant repeats its operations in its trace, if timelines belong to the results. The last
    /// repetition is drawn.
    pub timelines: Option<fn(&Settings) -> u64>,
    /// Whether tables and verdict report the correctness of computed results, and that a model computes none.
    pub checked: bool,
    /// The rows whose mean times of calls are shown, if the experiment measures them.
    pub averages: Option<fn(&Row) -> bool>,
}

impl Experiment {
    /// The column of that name. What no experiment declares is shown as a name or as milliseconds; a file that has it is refused.
    pub(crate) fn column(&self, name: &'static str) -> Column {
        let declared = self.columns.iter().find(|column| column.name == name);
        declared.copied().unwrap_or(Column::words(name))
    }

    /// The columns of calls' mean times.
    pub(crate) fn call_times(&self) -> impl Iterator<Item = &'static Column> {
        self.columns.iter().filter(|column| column.is_call_time())
    }
}

/// The results of an experiment on a device. Declared here because an experiment and its results name each other; `results/` has
/// their functions.
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

/// How rows relate to a base, a row that is the same except in some columns.
pub struct Relation {
    /// The column that identifies the base, and its value there.
    pub base: (&'static str, &'static str),
    /// The columns in which a row may differ from its base.
    pub but: &'static [&'static str],
    /// The name of the figure that follows from the two.
    pub name: &'static str,
    /// Computes that figure of a row, from the row and its base.
    pub figure: fn(&Row, &Row) -> Option<Figure>,
}

impl Relation {
    /// Whether one variant is the base of another.
    pub(crate) fn is_base(&self, base: &Varied, of: &Varied) -> bool {
        let (column, value) = self.base;
        let is_one = base.iter().any(|(name, cell)| *name == column && cell.to_string() == value);
        is_one && are_alike(base, of, self.but)
    }

    /// Adds the figure to each row that has a base.
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

/// How text shows rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// A table with bars.
    Table,
    /// The values of one column side by side; the second part names columns that follow from it.
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
    /// The number of GPUs.
    pub gpus: u32,
    /// The driver's version, if known.
    pub driver: Option<String>,
    /// Its number of copy engines, if known.
    pub copy_engines: Option<u32>,
    /// Whether each stream has its own queue (Hyper-Q), if known. Without, engines start operations in the order of issue.
    pub own_queues: Option<bool>,
    /// Whether kernels of several streams that were issued back to back signal their ends together, if known.
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

/// The variants to run.
#[derive(Default)]
pub struct Plan {
    /// In the order of rows.
    pub variants: Vec<Variant>,
    /// Values that the settings ask for and the device does not have, one line each.
    pub left_out: Vec<String>,
}

/// A workload to run, and how to read its outcome.
pub struct Variant {
    /// Values that distinguish it from other variants, by column.
    pub varied: Vec<(&'static str, Cell)>,
    /// The workload.
    pub workload: Workload,
    /// Whether reading needs the times of calls. Measuring them costs about 40 ns per call.
    pub timed: bool,
    /// Whether it runs once more for the mean times of its calls, which become figures of its row.
    pub averages: bool,
    /// On a model whose GPUs share a lock: the time to hand it over, in percent of the model's; 0 if GPUs do not share it yet.
    pub contention: Option<u32>,
    /// Reads the rows of one outcome, the same number for each.
    pub read: Read,
}

/// Reads the rows of an outcome.
pub type Read = Box<dyn Fn(&Outcome) -> Vec<Reading>>;

/// A row of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Values that distinguish the row from other rows of its variant.
    pub also: Vec<(&'static str, Cell)>,
    /// The figures, the most important first.
    pub figures: Vec<(&'static str, f64)>,
    /// The largest difference from the expected result, if that was checked.
    pub max_error: Option<f64>,
    /// The same for each worker, if the experiment reads it.
    pub each: Vec<Reading>,
}

impl Reading {
    /// The figure of that name.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }
}

impl Variant {
    /// Its name in messages and on the command line: `variant=threads,workers=8`.
    pub fn label(&self) -> String {
        label(&self.varied)
    }

    /// Whether it has all of these values.
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
