//! Observations of the program: its calls, waits, streams, stacks and ranges.

pub mod driver;
pub mod functions;
pub mod hooks;
pub mod jit;
pub mod listed_libraries;
pub mod nvtx;
pub mod places;
pub mod python;
pub mod shapes;
pub mod stacks;
pub mod streams;
pub mod unwind;
pub mod watched_libraries;
