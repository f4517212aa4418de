//! Runs a [`workload::Workload`] in virtual time, on a [`Model`] of driver, host and devices.
//!
//! A run returns the same as a run on GPUs: an [`Outcome`] and, on request, a [`Trace`]. The simulator computes no results and
//! reads no clock: the same workload and model give the same outcome and the same trace, to the byte.
//!
//! A host thread makes its calls in order. A call takes its own time, acquires its context's locks by the model's rules, issues
//! operations to the device, waits where it must, and releases the locks. Operations go into hardware queues and from there to
//! engines. All times and rules come from the model: `models/*.toml`.
//!
//! Deliberately simple: there is no noise, a copy never shares its engine, kernels share a device by the threads that they need
//! and run no slower for it, managed memory is device memory, and the nodes of a graph run one after the other. The calls of an
//! outcome are the driver's; what threads do on the host is not among them.
//!
//! ```
//! use sim::{Model, Options};
//! use workload::{Kernel, StreamKind, Workload};
//!
//! let mut workload = Workload::new("two kernels");
//! let process = workload.process("main");
//! let context = process.primary(0);
//! let stream = process.stream("s", context, StreamKind::NonBlocking);
//! let delay = Kernel::Delay { cycles: 1_000_000 };
//! let thread = process.thread("t", context);
//! thread.body().launch(delay.clone(), 1, 1, stream).launch(delay, 1, 1, stream).synchronize(stream);
//!
//! let model = Model::load("h200")?;
//! let (outcome, trace) = sim::run(&workload, &model, Options { trace: true, ..Options::default() })?;
//! assert!(outcome.threads[0].elapsed_ns > 1_000_000);
//! assert_eq!(trace.expect("requested").ops.len(), 2);
//! # Ok::<(), sim::Error>(())
//! ```

mod calls;
mod chance;
mod delays;
mod device;
mod engines;
mod events;
mod functions;
mod host;
mod locks;
mod machine;
mod meetings;
mod model;
mod ops;
mod plan;
mod processors;
mod program;
mod record;
mod recorded;
mod steps;
mod thread;
mod work;

pub use chance::Chance;
pub use delays::{Delay, Delays};
pub use model::*;
pub use recorded::{
    CallOf, Does, Locks, Meets, Queue, Recorded, RecordedStep, Replayed, Rows, StepAt, Until, Waited, Work,
    WorkKind, run_recorded,
};

use trace::Trace;
use workload::{Outcome, Workload};

/// Records that a run makes, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to make a Trace.
    pub trace: bool,
    /// The most rows of a Trace: calls, operations, waits and synchronizations together. Further rows are counted as lost.
    pub most_rows: usize,
    /// The most calls, operations of graphs and other steps of all threads. A workload with more is refused.
    pub most_calls: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { trace: false, most_rows: 20_000_000, most_calls: 1_000_000_000 }
    }
}

/// Why a workload did not run.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// A text that is not a model.
    #[error("{file}: {problem}")]
    Model {
        /// Its name or path.
        file: String,
        /// The problem, with its line if known.
        problem: String,
    },
    /// A workload that no runner can run.
    #[error(transparent)]
    Workload(#[from] workload::Error),
    /// A context on a device that the model does not have.
    #[error(
        "process {process} uses device {device}, but the model {model} has {count}: choose another model"
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
    /// MPS on a model without it.
    #[error("the model {model} has no MPS: choose another model, or run without MPS")]
    NoMps {
        /// The model.
        model: String,
    },
    /// A call of cuBLAS.
    #[error("the model {model} has no cuBLAS: use holdup's own kernels, or a GPU")]
    NoBlas {
        /// The model.
        model: String,
    },
    /// Not enough memory on a device.
    #[error(
        "thread {thread} of process {process} is out of memory: {bytes} bytes for buffer {buffer}, {free} free on device {device}"
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
        /// Bytes that are free.
        free: u64,
        /// The device's ordinal.
        device: u32,
    },
    /// Threads wait for each other, or for something that never happens.
    #[error("deadlock after {at_ms} ms: {waiting}")]
    Deadlock {
        /// The virtual time, ms.
        at_ms: i64,
        /// Each thread that waits, and for what.
        waiting: String,
    },
    /// More steps than allowed.
    #[error("more than {most} steps: make the workload smaller")]
    TooLong {
        /// The limit.
        most: u64,
    },
    /// More operations in flight than the simulator has room for.
    #[error("more than {most} operations are in flight: synchronize, or make the workload smaller")]
    TooMuch {
        /// The limit.
        most: usize,
    },
    /// A virtual time that overflows.
    #[error("the run takes more than 73 years of virtual time: make the workload smaller")]
    TooLate,
    /// A step that cannot run.
    #[error("thread {thread} of process {process}: {problem}")]
    Step {
        /// The process.
        process: String,
        /// The thread.
        thread: String,
        /// The step, and its problem.
        problem: String,
    },
}

/// Runs a workload.
///
/// # Errors
/// [`Workload::check`] refuses it; it needs a device, memory, MPS or cuBLAS that the model does not have; its threads wait for each
/// other for ever; or it exceeds a limit of [`Options`].
pub fn run(workload: &Workload, model: &Model, options: Options) -> Result<(Outcome, Option<Trace>), Error> {
    workload.check()?;
    let program = program::compile(workload, model)?;
    let ran = machine::Machine::new(workload, model, program, options).run()?;
    Ok((ran.outcome, ran.trace))
}

/// Runs a workload. Returns its trace, and for each of its operations why it started later than it was asked for.
///
/// # Errors
/// As [`run`].
pub fn run_with_delays(workload: &Workload, model: &Model) -> Result<(Trace, Vec<Delays>), Error> {
    workload.check()?;
    let program = program::compile(workload, model)?;
    let options = Options { trace: true, ..Options::default() };
    let ran = machine::Machine::new(workload, model, program, options).observed().run()?;
    Ok((ran.trace.unwrap_or_default(), ran.delays))
}
