//! Runs experiments of the lab.

use experiments::{Experiment, Runner, Settings, Variant};
use sim::{Model, Options};
use std::sync::Arc;
use workload::{Outcome, Workload};

/// Runs on a built-in model.
pub fn run(workload: &Workload, model: &str) -> Outcome {
    let model = Model::load(model).unwrap();
    sim::run(workload, &model, Options::default()).unwrap().0
}

/// A row of a table: what was measured and what the model gives, with how far apart they may be.
pub struct Row {
    pub what: String,
    pub measured: (f64, f64),
    pub simulated: f64,
    pub within: f64,
}

/// A row with one measured value.
pub fn row(what: impl Into<String>, measured: f64, simulated: f64, within: f64) -> Row {
    Row { what: what.into(), measured: (measured, measured), simulated, within }
}

impl Row {
    /// How far the simulated value is from the measured range, as a part of it.
    fn off(&self) -> f64 {
        let (low, high) = self.measured;
        match self.simulated {
            s if s < low => s / low - 1.0,
            s if s > high => s / high - 1.0,
            _ => 0.0,
        }
    }
}

/// Prints a table, and fails if a row is further off than it may be.
pub fn check(rows: &[Row]) {
    let mut wrong = 0;
    for row in rows {
        let bad = row.off().abs() > row.within;
        wrong += usize::from(bad);
        let (low, high) = row.measured;
        let measured = if low == high { format!("{low}") } else { format!("{low} to {high}") };
        let mark = if bad { "  ←" } else { "" };
        println!(
            "{:46} measured {measured:>14}  simulated {:>10.3}  {:+5.1} %{mark}",
            row.what,
            row.simulated,
            row.off() * 100.0
        );
    }
    assert_eq!(wrong, 0, "rows marked ← are further off than they may be");
}

/// The trace of a run on a built-in model.
pub fn traced(workload: &Workload, model: &str) -> trace::Trace {
    let model = Model::load(model).unwrap();
    let options = Options { trace: true, ..Options::default() };
    sim::run(workload, &model, options).unwrap().1.unwrap()
}

/// As a tool would have recorded it that does not watch locks.
pub fn without_locks(trace: &trace::Trace) -> trace::Trace {
    let mut trace = trace.clone();
    trace.waits = trace::Waits::default();
    trace.meta.locks_watched = false;
    trace
}

/// The variants of an experiment that a model can run.
pub fn variants(experiment: &Experiment, set: &[&str], model: &Model) -> Vec<Variant> {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let settings = Settings::new(experiment.name, experiment.parameters, &set).unwrap();
    let bench = Runner::Sim(Arc::new(model.clone())).bench();
    let Ok(plan) = (experiment.variants)(&settings, &bench) else { return Vec::new() };
    plan.variants
}
