//! Common code of all SQLite traces: opens a database without changing it and reads rows of tables whose columns vary.

mod builder;
mod names;
mod open;
mod ops;
mod rows;

pub(crate) use builder::{Builder, import, result};
pub(crate) use names::Names;
pub(crate) use open::{open, unread_log};
pub(crate) use ops::{COMMON, Schema};
pub(crate) use rows::{Fault, Source, Value, interval};
