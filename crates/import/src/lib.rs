//! Reads traces of other tools into a [`trace::Trace`]: Kineto JSON, Nsight Systems SQLite,
//! nvprof SQLite, and holdup's own files, recognised by content.

mod clock;
mod error;
mod identities;
mod nsys;
mod nvprof;
mod overhead;
mod progress;
mod sqlite;
mod stacks;
mod suffix;

pub use error::{ImportError, Problem};
