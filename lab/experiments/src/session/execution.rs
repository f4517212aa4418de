//! Execution of a workload, as a session asks for it.

use trace::Trace;
use workload::{Outcome, Workload};

/// One run of a workload.
pub struct Run {
    /// Measured outcome.
    pub outcome: Outcome,
    /// The trace, if it was requested.
    pub trace: Option<Trace>,
    /// Why the run was stopped before its end, if it was.
    pub stopped: Option<String>,
    /// Remarks on the figures, one line each.
    pub notes: Vec<String>,
}

/// Why a workload did not run.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The device cannot run it: the variant is skipped.
    Impossible(String),
    /// Something failed: nothing more runs.
    Failed(String),
    /// The user interrupted it.
    Stopped(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Impossible(why) | Failure::Failed(why) | Failure::Stopped(why) => to.write_str(why),
        }
    }
}

/// The progress of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Completed runs.
    pub done: u64,
    /// All runs.
    pub total: u64,
    /// The label of the current variant.
    pub variant: String,
}

/// Measurements that one run must make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// The times of calls.
    pub timed: bool,
    /// A trace.
    pub trace: bool,
    /// [`Variant::contention`](crate::Variant::contention).
    pub contention: Option<u32>,
}

/// Runs a workload.
pub type Execute<'a> = dyn FnMut(&Workload, Want) -> Result<Run, Failure> + 'a;
