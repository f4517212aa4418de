//! The experiments, one file each, and their registry.
//!
//! An experiment's file declares everything about it. To add one, write its file and add two lines here: its module and
//! its place in [`CATALOGUE`]. (A macro would make one line of the two, but rustfmt does not follow modules that a macro
//! declares.)

pub mod architectures;
pub mod hidden_sync;
pub mod host_work;
pub mod interference;
pub mod launch_stall;
pub mod multi_gpu;
mod onset;
pub mod overlap;
mod processes;
mod slowdown;
pub mod stagger;

use crate::experiment::Experiment;

/// All experiments, in the order that `holdup lab list` shows.
pub static CATALOGUE: &[Experiment] = &[
    architectures::EXPERIMENT,
    stagger::EXPERIMENT,
    launch_stall::EXPERIMENT,
    overlap::EXPERIMENT,
    hidden_sync::EXPERIMENT,
    host_work::EXPERIMENT,
    multi_gpu::EXPERIMENT,
    interference::EXPERIMENT,
];

/// The experiment of that name.
///
/// # Errors
/// A line that lists the names.
pub fn experiment(name: &str) -> Result<&'static Experiment, String> {
    CATALOGUE.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        let names: Vec<&str> = CATALOGUE.iter().map(|experiment| experiment.name).collect();
        format!(
            "unknown experiment `{name}`: expected one of {}, or the file of a workload, NAME.toml",
            names.join(", ")
        )
    })
}
