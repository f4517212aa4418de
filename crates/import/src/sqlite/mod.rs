//! What every SQLite trace has in common: opening it without touching it, and reading rows from tables whose columns vary.

mod names;
mod open;
mod rows;

pub(crate) use names::Names;
pub(crate) use open::{open, unread_log};
pub(crate) use rows::{Fault, Source, Value, interval};
