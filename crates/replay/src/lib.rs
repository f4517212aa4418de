//! Runs what a [`trace::Trace`] recorded again, in virtual time.
//!
//! [`recover()`] finds out what the program asked for: the calls of each thread with what they cost by themselves, the time between
//! them, the operations that they issue, and what each waits for: a lock, another thread, the device. [`Recovered::replay`] runs
//! that on a model of driver and device, whose figures come from the trace where the trace has them. [`Fit`] measures how well it
//! reproduces the trace; only what fits may be changed and predicted. `docs/replay.md` describes what a replay takes from a trace, and
//! its limits.

mod arithmetic;
mod error;
mod fit;
mod predict;
mod recover;
mod retime;
pub mod show;

pub use error::Error;
pub use explain::ThreadGain;
pub use fit::{Both, CallFit, CauseFit, Fit, GpuFit, MOST_ERROR, ThreadFit};
pub use predict::faster::{Faster, NotFaster};
pub use predict::fixes::{FIXES, Fix};
pub use predict::gains::{gains, is_quick};
pub use predict::ranking::{is_ranked, rank};
pub use predict::removed::Removed;
pub use predict::{Bare, Change, Gain, Prediction, Predictor, Progress, fix, fixes};
pub use recover::layout::kinds as stream_kinds;
pub use recover::lost::ForQueue;
pub use recover::recovered::{Recovered, StepOf};
pub use recover::{recover, recover_on};
pub use retime::retime;
