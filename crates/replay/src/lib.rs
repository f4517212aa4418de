//! Runs what a [`trace::Trace`] recorded again, in virtual time.
//!
//! [`recover()`] finds out what the program asked for: the calls of each thread with what they cost by themselves, the time between
//! them, the operations that they issue, and what each waits for: a lock, another thread, the device. [`Recovered::replay`] runs
//! that on a model of driver and device, whose figures come from the trace where the trace has them. [`Fit`] measures how well it
//! reproduces the trace; only what fits may be changed and predicted. `docs/replay.md` describes what a replay takes from a trace, and
//! its limits.

mod ahead;
mod arithmetic;
mod beside;
mod calls;
mod delays;
mod error;
mod faster;
mod fit;
mod fixes;
mod gains;
mod lost;
mod machine;
mod pauses;
mod places;
mod predict;
mod processors;
mod recover;
mod recovered;
mod removed;
mod retime;
mod sections;
pub mod show;
mod spare;
mod untraced;
mod waits;
mod works;

pub use error::Error;
pub use explain::ThreadGain;
pub use faster::{Faster, NotFaster};
pub use fit::{Both, CallFit, CauseFit, Fit, GpuFit, MOST_ERROR, ThreadFit};
pub use fixes::{FIXES, Fix};
pub use gains::{gains, is_quick};
pub use lost::ForQueue;
pub use predict::{Bare, Change, Gain, Prediction, Predictor, Progress, fix, fixes};
pub use recover::{recover, recover_on};
pub use recovered::{Recovered, StepOf};
pub use removed::Removed;
pub use retime::retime;
