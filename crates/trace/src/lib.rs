//! The Trace: what happened in a CUDA program, as tables.
//!
//! Every importer and recorder produces a [`Trace`]; everything that thinks or speaks reads one.
//! A table is a structure of arrays ([`table`]); rows refer to each other by typed row numbers
//! ([`ThreadId`], [`CallId`] …) and to text by an interned [`Sym`]. All times are `i64`
//! nanoseconds since the trace's epoch ([`Meta::epoch_unix_ns`]); intervals are half-open.
//!
//! The crate knows no CUDA library, no foreign trace format and no user interface.

mod captures;
mod cell;
mod columns;
mod cut;
mod file;
mod join;
mod kinds;
mod meta;
mod model;
mod select;
mod strings;
#[macro_use]
mod table;
mod within;

pub use cell::CellError;
pub use columns::{Values, to_parquet};
pub use cut::Renumbered;
pub use file::{FileError, read, write, write_parts};
pub use join::CorrelationIndex;
pub use kinds::{Api, CopyKind, LockKind, LockMode, MemoryKind, OpKind, RangeKind, SyncKind, ThreadRole};
pub use meta::{Clock, Lost, Meta, Source};
pub use model::*;
pub use select::{Selected, Selection, marks};
pub use strings::{Strings, Sym};
pub use table::TableError;
pub use within::Within;

/// An instant or a duration in nanoseconds.
pub type Ns = i64;

/// The version of the `.holdup` schema this crate writes.
pub const SCHEMA_VERSION: u32 = 1;
