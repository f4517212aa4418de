//! Reads traces of other tools into a [`trace::Trace`]: Kineto JSON, Nsight Systems SQLite,
//! nvprof SQLite, and holdup's own files, recognised by content.

mod error;
mod identities;
mod nsys;
mod nvprof;

pub use error::{ImportError, Problem};
