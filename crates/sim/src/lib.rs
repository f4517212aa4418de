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

mod chance;
mod delays;
mod device;
mod error;
mod events;
mod host;
mod layout;
mod load;
mod machine;
mod model;
mod options;
mod plan;
mod recorded;
mod script;

pub use chance::Chance;
pub use delays::{Delay, Delays};
pub use error::Error;
pub use model::*;
pub use options::Options;
pub use recorded::{
    CallOf, Does, Locks, Meets, Queue, Recorded, RecordedStep, Replayed, Rows, StepAt, Until, Waited, Work,
    WorkKind, run_recorded,
};

use trace::Trace;
use workload::{Outcome, Workload};

/// Runs a workload.
///
/// # Errors
/// [`Workload::check`] refuses it; it needs a device, memory, MPS or cuBLAS that the model does not have; its threads wait for each
/// other for ever; or it exceeds a limit of [`Options`].
pub fn run(workload: &Workload, model: &Model, options: Options) -> Result<(Outcome, Option<Trace>), Error> {
    let results = script::run(workload, model, options, false)?;
    Ok((results.outcome, results.trace))
}

/// Runs a workload. Returns its trace, and for each of its operations why it started later than it was asked for.
///
/// # Errors
/// The errors of [`run`].
pub fn run_with_delays(workload: &Workload, model: &Model) -> Result<(Trace, Vec<Delays>), Error> {
    let options = Options { trace: true, ..Options::default() };
    let results = script::run(workload, model, options, true)?;
    Ok((results.trace.unwrap_or_default(), results.delays))
}
