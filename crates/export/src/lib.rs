//! A trace and what was found in it, for other tools: [`perfetto`] and [`chrome`] draw it, [`parquet`] and
//! [`csv`] make tables of it.
//!
//! Everything is written as it is made: what is held besides the trace is an order of rows and a table of names.
//! Names from traces may be anything; each format's writer quotes them as the format demands.

mod tables;
mod view;

pub use tables::{csv, is_export, parquet};
pub use view::{chrome, perfetto};

use explain::{Explanation, Loss};
use trace::Trace;

/// What is exported: a trace, and what [`explain::explain_each`] says of it.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its findings.
    pub explanation: &'a Explanation,
    /// The single losses that the findings count, and the other recorded waits.
    pub losses: &'a [Loss],
}

/// How far an export is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Events, rows or files written.
    pub done: u64,
    /// Of how many in all.
    pub total: u64,
}

/// Says how far an export is, now and then.
struct Meter<'a> {
    progress: Progress,
    say: &'a mut dyn FnMut(Progress),
}

impl Meter<'_> {
    /// Between two reports, events.
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

    /// A whole file is written.
    fn file(&mut self) {
        self.progress.done += 1;
        (self.say)(self.progress);
    }
}
