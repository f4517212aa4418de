//! The Trace: what happened in a CUDA program, as tables.
//!
//! Every importer and recorder produces a [`Trace`]; analysis, reports and exports read one. [`write()`] and [`read()`]
//! store it as a `.holdup` file.
//!
//! A table, for example [`Calls`], is a structure of arrays. Rows refer to each other by typed row numbers
//! ([`ThreadId`], [`CallId`] …) and to text by an interned [`Sym`]. [`Meta`] describes the trace and what it lost;
//! [`Selection`] and [`Trace::cut`] take a part of it. All times are `i64` nanoseconds since the trace's epoch
//! ([`Meta::epoch_unix_ns`]); intervals are half-open.
//!
//! The crate depends on no CUDA library, no foreign trace format and no user interface.
//!
//! ```
//! use trace::{Api, Call, Process, Thread, Trace};
//!
//! let mut trace = Trace::default();
//! let name = trace.strings.intern("cudaMalloc");
//! let process = trace.processes.push(Process { pid: 41, ..Process::default() });
//! let thread = trace.threads.push(Thread { process, tid: 42, ..Thread::default() });
//! trace.calls.push(Call { start: 100, end: 900, thread, api: Api::Runtime, name, ..Call::default() });
//!
//! let mut file = std::io::Cursor::new(Vec::new());
//! trace::write(&trace, &mut file)?;
//! let read = trace::read(file.into_inner())?;
//!
//! assert_eq!(read.text(read.calls.name[0]), "cudaMalloc");
//! assert_eq!(read.threads.tid[read.calls.thread[0].index()], 42);
//! # Ok::<(), trace::FileError>(())
//! ```

mod captures;
mod cell;
mod check;
mod chunk;
mod columns;
mod cut;
mod dictionary;
mod encode;
mod error;
mod file;
mod fit;
mod join;
mod kinds;
mod merge;
mod meta;
mod model;
mod moved;
mod near;
mod reworded;
mod select;
mod settings;
mod span;
mod strings;
#[macro_use]
mod table;
mod times;
mod within;

pub use check::FAR;
pub use encode::{Values, to_parquet};
pub use error::{CellError, FileError, TableError};
pub use file::{read, write, write_parts};
pub use join::CorrelationIndex;
pub use kinds::{
    Api, CopyKind, LockKind, LockLayer, LockMode, MemoryKind, OpKind, RangeKind, STACKS, SyncKind, TallyKind,
    ThreadRole, ThreadState,
};
pub use meta::{Clock, GpuClock, Lost, Meta, Source};
pub use model::*;
pub use moved::Renumbered;
pub use near::partition_point_near;
pub use reworded::Word;
pub use select::{Selected, Selection, marks};
pub use settings::{LAUNCH_BLOCKING, MAX_CONNECTIONS, MODULE_LOADING, settings_text};
pub use strings::{Strings, Sym};
pub use times::Times;
pub use within::Within;

/// An instant or a duration in nanoseconds.
pub type Ns = i64;

/// An instant, nanoseconds since the trace's epoch, as a column of a table: it moves with the trace.
pub type Moment = Ns;

/// A duration in nanoseconds, as a column of a table.
pub type Duration = Ns;

/// The version of the `.holdup` schema this crate writes.
pub const SCHEMA_VERSION: u32 = 1;
