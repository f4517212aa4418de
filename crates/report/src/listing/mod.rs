//! One row an event, in time order, in the manner of nvprof's `--print-api-trace` and
//! `--print-gpu-trace`. Rows are written as they are made; only their order is held in memory.

mod calls;
mod cell;
mod ops;
mod write;

use std::io::{self, Write};
use trace::{Selection, Trace};

/// The form of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Aligned columns with units; columns that hold nothing are left out. On a page of so many columns those go that matter
    /// least, and a name is cut in the middle; without, lines are as long as they get.
    Text(Option<usize>),
    /// All columns with a header line; nanoseconds and bytes.
    Csv,
    /// One JSON object a line; nanoseconds and bytes.
    Json,
}

/// Lists the chosen host calls.
///
/// # Errors
/// What `to` says, a closed pipe included.
pub fn calls(trace: &Trace, selection: &Selection, format: Format, to: impl Write) -> io::Result<()> {
    let listing = calls::Listing::new(trace, format);
    let rows = calls::rows(trace, selection);
    write::listing(&listing, &calls::columns(), &rows, format, to)
}

/// Lists the chosen GPU operations.
///
/// # Errors
/// What `to` says, a closed pipe included.
pub fn ops(trace: &Trace, selection: &Selection, format: Format, to: impl Write) -> io::Result<()> {
    let listing = ops::Listing::new(trace, format);
    let rows = ops::rows(trace, selection);
    write::listing(&listing, &ops::columns(), &rows, format, to)
}
