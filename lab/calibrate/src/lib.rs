//! Measures a machine, and makes a [`sim::Model`] of it.
//!
//! A [`Bench`] runs workloads: on this machine's GPU, or on a model, which tests compare with what was measured on it. Each value of
//! the model is measured, reported by the device, or assumed: then it is that of the built-in model of the nearest device.
//!
//! ```
//! use calibrate::{Simulated, calibrate};
//!
//! let bench = Simulated::new(sim::Model::load("h200")?);
//! let calibrated = calibrate(&bench, "mine", 1, &mut |_| {})?;
//! let model = sim::Model::parse(&calibrated.text(), "mine.toml")?;
//! assert_eq!(model.connections.default, 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bench;
mod draft;
mod error;
#[cfg(target_os = "linux")]
mod gpus;
mod measure;
mod rounds;
mod sections;
mod statistics;
mod text;

pub use bench::{Bench, Facts, Ran, Simulated};
pub use draft::Calibrated;
pub use error::Error;
#[cfg(target_os = "linux")]
pub use gpus::Gpu;

/// How far a calibration has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Subject of the current measurement.
    pub what: &'static str,
    /// Measurements that are done.
    pub done: u64,
    /// All measurements.
    pub total: u64,
}

/// Measures a machine in so many rounds, at least one, and takes the middle value of each. `name` is that of the model.
///
/// # Errors
/// A workload did not run, or was interrupted.
pub fn calibrate(
    bench: &dyn Bench,
    name: &str,
    rounds: u32,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Calibrated, Error> {
    let facts = bench.facts();
    let base = sim::Model::nearest(facts.compute, &facts.title)?;
    let (steps, mut done) = (measure::STEPS, 0);
    let mut taken = Vec::new();
    for _ in 0..rounds.max(1) {
        let mut draft = draft::Draft::new(name, facts, base.clone());
        for step in steps {
            progress(&Progress {
                what: step.what,
                done,
                total: steps.len() as u64 * u64::from(rounds.max(1)),
            });
            measure::take(step, bench, &mut draft)?;
            done += 1;
        }
        taken.push(draft.finish());
    }
    let calibrated = rounds::middle(&taken)?.unwrap_or_else(|| draft::Draft::new(name, facts, base).finish());
    Ok(calibrated.stated(taken.len()))
}
