//! Measures a machine, and makes a [`sim::Model`] of it.
//!
//! A [`Bench`] runs workloads: on this machine's GPU, or on a model, which tests compare with what was measured on it. Each value of
//! the model is measured, reported by the device, or assumed: then it is that of the built-in model of the nearest device.
//!
//! ```
//! use calibrate::{Simulated, calibrate};
//!
//! let bench = Simulated::new(sim::Model::load("h200")?);
//! let calibrated = calibrate(&bench, "mine", &mut |_| {})?;
//! let model = sim::Model::parse(&calibrated.text(), "mine.toml")?;
//! assert_eq!(model.connections.default, 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bench;
mod draft;
#[cfg(target_os = "linux")]
mod gpus;
mod measure;
mod sections;
mod statistics;
mod text;

pub use bench::{Bench, Facts, Ran, Simulated};
pub use draft::Calibrated;
#[cfg(target_os = "linux")]
pub use gpus::Gpu;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A workload did not run.
    #[error("{what}: {why}")]
    Run {
        /// What was measured.
        what: String,
        /// Why it did not run, and what to do.
        why: String,
    },
    /// A built-in model is broken.
    #[error(transparent)]
    Model(#[from] sim::Error),
}

/// How far a calibration has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is measured now.
    pub what: &'static str,
    /// Measurements that are done.
    pub done: u64,
    /// All measurements.
    pub total: u64,
}

/// Measures a machine. `name` is that of the model.
///
/// # Errors
/// A workload did not run, or was interrupted.
pub fn calibrate(
    bench: &dyn Bench,
    name: &str,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Calibrated, Error> {
    let facts = bench.facts();
    let mut draft = draft::Draft::new(name, facts, sim::Model::nearest(facts.compute, &facts.title)?);
    let steps = measure::STEPS;
    for (done, step) in (0..).zip(steps) {
        progress(&Progress { what: step.what, done, total: steps.len() as u64 });
        measure::take(step, bench, &mut draft)?;
    }
    Ok(draft.finish())
}
