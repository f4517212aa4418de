//! Runs a [`workload::Workload`] in virtual time, on a [`Model`] of driver, host and devices.
//!
//! What comes out is what a GPU's runner gives: an [`Outcome`] and, if wanted, a [`Trace`]. Nothing is computed and
//! no clock is read: the same workload and model give the same outcome and the same trace, to the byte.
//!
//! A host thread makes its calls in order. A call costs its own time, takes its context's locks by rule, asks the device
//! for work, waits where it must and lets go of the locks. Work goes into hardware queues, from there to engines.
//! What everything costs and which rules hold is the model's: `models/*.toml`.
//!
//! Deliberately simple: processors for all threads, no noise, a copy has its engine alone, kernels share a device by
//! the threads they need and otherwise run as long as alone, managed memory is the device's, and what a graph holds
//! goes one after the other. An outcome's calls are the driver's; what threads do on the host is in no list.

mod calls;
mod chance;
mod device;
mod engines;
mod events;
mod host;
mod locks;
mod machine;
mod model;
mod names;
mod ops;
mod plan;
mod processors;
mod program;
mod record;
mod steps;
mod thread;
mod work;

pub use chance::Chance;
pub use model::*;

use trace::Trace;
use workload::{Outcome, Workload};

/// What a run keeps, and how far it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether a Trace is wanted.
    pub trace: bool,
    /// Rows of a Trace at most, of calls, operations, waits and synchronizations together; further ones are counted as lost.
    pub most_rows: usize,
    /// Calls, operations of graphs and other steps of all threads at most; a workload that makes more is refused.
    pub most_calls: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { trace: false, most_rows: 20_000_000, most_calls: 1_000_000_000 }
    }
}

/// Why a workload did not run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// A model that is none.
    #[error("{file}: {problem}")]
    Model {
        /// Its name or path.
        file: String,
        /// What is wrong, with the line if it is known.
        problem: String,
    },
    /// A workload that nobody can run.
    #[error(transparent)]
    Workload(#[from] workload::Error),
    /// A context on a device that the model lacks.
    #[error(
        "process {process} uses device {device}, but the model {model} has {count}; choose another model"
    )]
    NoDevice {
        /// The process.
        process: String,
        /// The ordinal it uses.
        device: u32,
        /// The model.
        model: String,
        /// How many devices it has, in words.
        count: String,
    },
    /// An MPS server where there is none.
    #[error("the model {model} has no MPS; choose another model, or run without")]
    NoMps {
        /// The model.
        model: String,
    },
    /// A library's call.
    #[error("the model {model} has no cuBLAS; take holdup's own kernels, or a GPU")]
    NoBlas {
        /// The model.
        model: String,
    },
    /// No room on a device.
    #[error(
        "thread {thread} of process {process} is out of memory: {bytes} bytes for buffer {buffer}, {free} left on device {device}"
    )]
    OutOfMemory {
        /// The process.
        process: String,
        /// The thread.
        thread: String,
        /// The buffer.
        buffer: String,
        /// Its size.
        bytes: u64,
        /// What is left.
        free: u64,
        /// The device's ordinal.
        device: u32,
    },
    /// Threads wait for each other, or for what never comes.
    #[error("deadlock after {at_ms} ms: {waiting}")]
    Deadlock {
        /// When, in milliseconds of virtual time.
        at_ms: i64,
        /// Who waits for what.
        waiting: String,
    },
    /// More steps than allowed.
    #[error("more than {most} steps; make the workload smaller, or allow more")]
    TooLong {
        /// The limit.
        most: u64,
    },
    /// More work for devices than there is room for.
    #[error(
        "devices are to do more than {most} operations at once; wait for some, or make the workload smaller"
    )]
    TooMuch {
        /// The limit.
        most: usize,
    },
    /// More time than there is.
    #[error("it would take more than 73 years; make the workload smaller")]
    TooLate,
    /// A step that cannot be run.
    #[error("thread {thread} of process {process}: {problem}")]
    Step {
        /// The process.
        process: String,
        /// The thread.
        thread: String,
        /// What is wrong with which step.
        problem: String,
    },
}

/// Runs a workload.
///
/// # Errors
/// When [`Workload::check`] refuses it, when it needs a device, memory or MPS that the model lacks, when its threads wait for each other for ever, or when
/// it makes more calls than allowed.
pub fn run(workload: &Workload, model: &Model, options: Options) -> Result<(Outcome, Option<Trace>), Error> {
    workload.check()?;
    let program = program::compile(workload, model)?;
    machine::Machine::new(workload, model, program, options).run()
}
