//! One row an event, in the manner of nvprof's `--print-api-trace` and
//! `--print-gpu-trace`. Rows are written as they are made; only their order is in memory, of the first N no more than theirs.

mod calls;
mod cell;
mod format;
mod ops;
mod order;
mod write;

pub use format::Format;
pub use order::{Order, Sort};

use std::io::{self, Write};
use trace::{Selection, Trace};

/// Lists the selected host calls.
///
/// # Errors
/// Errors of `to`, a closed pipe included.
pub fn calls(
    trace: &Trace,
    selection: &Selection,
    order: Order,
    format: Format,
    to: impl Write,
) -> io::Result<()> {
    let listing = calls::Listing::new(trace, format);
    let rows = calls::rows(trace, selection, order);
    write::listing(&listing, &calls::columns(), &rows, (format, "holdup/calls/1"), to)
}

/// Lists the selected GPU operations.
///
/// # Errors
/// Errors of `to`, a closed pipe included.
pub fn ops(
    trace: &Trace,
    selection: &Selection,
    order: Order,
    format: Format,
    to: impl Write,
) -> io::Result<()> {
    let listing = ops::Listing::new(trace, format);
    let rows = ops::rows(trace, selection, order);
    write::listing(&listing, &ops::columns(), &rows, (format, "holdup/ops/1"), to)
}
