//! Common code of all SQLite traces: opens a database without changing it and reads rows of tables whose columns vary.

mod filling;
mod names;
mod open;
mod rows;

pub(crate) use filling::{Filling, SIZES, kernel, op};
pub(crate) use names::Names;
pub(crate) use open::{open, unread_log};
pub(crate) use rows::{Fault, Source, Value, interval};
