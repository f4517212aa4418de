//! Waits of threads outside of calls that another thread ends: each with the thread and the moment that end it.

mod endings;
mod exits;
mod find;
mod lives;
mod loops;
mod signal;
mod turns;

pub use find::{Signals, within_no_call};
pub use loops::Rounds;
pub use signal::{Signal, SignalKind};
