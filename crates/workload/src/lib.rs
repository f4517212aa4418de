//! The Workload: what the host threads of a CUDA program *ask for*.
//!
//! A [`Workload`] is data: processes with contexts, streams, events and buffers, and threads with the calls they make,
//! in order. It says nothing about what happens then: that is for whoever runs it, a GPU or a simulator, and what
//! happened is a Trace. Things are named by their row in their process's (or, for barriers, the workload's) list;
//! the lists keep the names people gave them.
//!
//! All times are nanoseconds, all sizes bytes.

mod model;
mod outcome;

pub use model::*;
pub use outcome::{CallTimes, Outcome, ThreadOutcome};
