//! Finish of an import: joins, clocks and names.

use crate::{clock, demangle};
use trace::Trace;

/// The last step of every import, when all records are in their tables.
pub(crate) fn finish(trace: &mut Trace) {
    trace.join();
    trace.fit();
    clock::check(trace);
    trace.rebase();
    demangle::kernels(trace);
}
