//! Exports a trace and its findings for other tools: [`perfetto`] and [`chrome`] write timelines, [`parquet`] and
//! [`csv`] write tables, [`speedscope`] and [`folded`] write flame graphs of samples. An [`Export`] holds what is exported.
//!
//! Output is written while it is generated: besides the trace, only an order of rows and a table of names are in
//! memory. Names in traces may hold any text; each format's writer quotes them.
//!
//! ```
//! let trace = trace::Trace::default();
//! let (explanation, losses) = explain::explain_each(&trace, &explain::Options::default());
//! let contents = export::Export { trace: &trace, explanation: &explanation, losses: &losses };
//!
//! let mut json = Vec::new();
//! export::chrome(&contents, &mut json, &mut |_progress| {})?;
//! assert!(json.ends_with(b"]}\n"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod flame;
mod tables;
mod view;

pub use flame::{folded, speedscope};
pub use tables::{csv, is_export, named_parquet, parquet};
pub use view::{chrome, perfetto};

use explain::{Explanation, Loss};
use trace::Trace;

/// The contents of an export: a trace and the result of [`explain::explain_each`].
#[derive(Clone, Copy)]
pub struct Export<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its findings.
    pub explanation: &'a Explanation,
    /// All losses: those that the findings count, and the other recorded waits.
    pub losses: &'a [Loss],
}

/// The progress of an export.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Events, rows or files written.
    pub done: u64,
    /// Events, rows or files in all.
    pub total: u64,
}

/// Reports the progress of an export occasionally.
struct Meter<'a> {
    progress: Progress,
    say: &'a mut dyn FnMut(Progress),
}

impl Meter<'_> {
    /// Number of events between two reports.
    const STEP: u64 = 1 << 14;

    fn new(total: usize, say: &mut dyn FnMut(Progress)) -> Meter<'_> {
        Meter { progress: Progress { done: 0, total: total as u64 }, say }
    }

    fn step(&mut self) {
        self.progress.done += 1;
        if self.progress.done.is_multiple_of(Meter::STEP) {
            (self.say)(self.progress);
        }
    }

    /// Counts a written file.
    fn file(&mut self) {
        self.progress.done += 1;
        (self.say)(self.progress);
    }
}
