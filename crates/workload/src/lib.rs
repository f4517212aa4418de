//! The Workload: the calls that the host threads of a CUDA program make.
//!
//! A [`Workload`] is data: processes with contexts, streams, events and buffers, and threads with their calls, in order. It
//! does not say what happens then: a runner, on GPUs or in simulation, executes it and returns an [`Outcome`] and a Trace.
//! References are rows of a list of the process (barriers: of the workload); the lists have the names.
//!
//! A workload is built in Rust ([`Workload::new`]) or read from text ([`Workload::from_toml`]). [`Workload::check`] says
//! whether it can run. All times are nanoseconds, all sizes bytes.
//!
//! ```
//! use workload::Workload;
//!
//! let text = br#"
//!     name = "two launches"
//!     [[process]]
//!     name = "main"
//!     streams = { s = "non-blocking" }
//!     [[process.thread]]
//!     name = "t"
//!     body = [{ launch = "empty", grid = 1, block = 32, stream = "s" }, { synchronize = "s" }]
//! "#;
//! let workload = Workload::from_toml(text, "two.toml")?;
//! assert_eq!(workload.processes[0].threads[0].body.len(), 2);
//!
//! let error = Workload::from_toml(b"name = 3", "bad.toml").expect_err("not a workload");
//! assert_eq!(error.to_string(), "bad.toml:1: \"name\" must be a name in quotes");
//! # Ok::<(), workload::Error>(())
//! ```

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
