//! Starts a program with holdup's capture library inside, waits for it as if it had been started
//! directly, and leaves what it recorded in a spool (see the crate `spool`).
//!
//! Linux only, for that is where CUDA programs can be preloaded; empty elsewhere.
#![cfg(target_os = "linux")]

mod capture;
mod descendants;
mod directory;
pub mod doctor;
mod environment;
mod error;
mod options;
mod recording;
mod run;
mod signals;
mod status;
mod witness;

pub use directory::Spool;
pub use environment::Environment;
pub use error::Error;
pub use options::Options;
pub use recording::Recording;
pub use run::{Command, GRACE, Moment, Outcome};
pub use status::{Status, die_like};
