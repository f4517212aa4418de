//! The Workload: what the host threads of a CUDA program *ask for*.
//!
//! A [`Workload`] is data: processes with contexts, streams, events and buffers, and threads with the calls they
//! make, in order. It says nothing about what happens then: that is for whoever runs it, a GPU or a simulator, and
//! what happened is a Trace. Things are named by their row in their process's (or, for barriers, the workload's)
//! list; the lists keep the names people gave them.
//!
//! It is built in Rust ([`Workload::new`] shows how) or read from text ([`Workload::from_toml`]). [`Workload::check`]
//! says whether it can be run.
//!
//! All times are nanoseconds, all sizes bytes.

mod build;
mod check;
mod error;
mod model;
mod outcome;
mod text;

pub use build::Steps;
pub use check::{DEEPEST, MOST_CALLS, MOST_CONNECTIONS, MOST_THREADS};
pub use error::Error;
pub use model::*;
pub use outcome::{CallTimes, Outcome, ThreadOutcome};
