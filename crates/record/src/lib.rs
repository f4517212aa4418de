//! Starts a program with holdup's capture library, waits for it as if it had been started directly, and leaves its
//! recording in a spool (see the crate `spool`). [`doctor`] reports what a machine lacks for that.
//!
//! [`Command`] is a program and its [`Options`]; [`Command::run`] returns an [`Outcome`] with the [`Spool`] and the
//! program's [`Status`].
//!
//! Linux only, where libraries can be preloaded into CUDA programs; empty on other systems.
//!
//! ```no_run
//! use record::{Command, Options};
//!
//! let options = Options {
//!     level: spool::Level::Full,
//!     stacks_ns: Some(100_000),
//!     locks: Vec::new(),
//!     sample_rate: 100,
//!     max_size: 1 << 30,
//!     keep_last: false,
//!     schedule: record::Schedule::default(),
//!     graph_nodes: false,
//!     spool_parent: std::env::temp_dir(),
//! };
//! let outcome = Command { argv: vec!["./program".into()], options }.run()?;
//! println!("{:?}, recorded in {}", outcome.status, outcome.spool.keep().display());
//! # Ok::<(), record::Error>(())
//! ```
#![cfg(target_os = "linux")]

mod capture;
mod clock;
mod control;
mod descendants;
mod directory;
pub mod doctor;
mod environment;
mod error;
mod image;
mod options;
mod recording;
mod refused;
mod run;
mod schedule;
mod signals;
mod status;
mod witness;

pub use directory::Spool;
pub use environment::Environment;
pub use error::Error;
pub use image::Obstacle;
pub use options::Options;
pub use recording::Recording;
pub use run::{Command, GRACE, Moment, Outcome};
pub use schedule::{Begin, Schedule};
pub use status::{Status, die_like};
