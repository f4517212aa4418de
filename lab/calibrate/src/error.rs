//! Errors of a calibration.

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A workload did not run.
    #[error("{what}: {why}")]
    Run {
        /// Subject of the measurement.
        what: String,
        /// Why it did not run, and what to do.
        why: String,
    },
    /// A built-in model is broken.
    #[error(transparent)]
    Model(#[from] sim::Error),
}
