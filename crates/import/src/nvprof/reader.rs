//! State of reading nvprof's database, and the times of its records.

use crate::sqlite::{Fault, Filling, Value, interval};
use rustc_hash::FxHashMap;
use trace::Ns;

/// Valid times, ns: unsigned and since the Unix epoch; beyond the end, later arithmetic could overflow.
pub(super) const TIMES: std::ops::Range<Ns> = 0..1 << 61;

/// The reader's state: the database on one side, the trace being built on the other.
pub(super) struct Nvprof<'a> {
    pub(super) rows: Filling<'a>,
    /// The device of each context: synchronizations name only the context.
    pub(super) device_of: FxHashMap<i64, i64>,
}

/// The start and end of a record, ns; CUPTI writes two zeros if it could not measure them.
pub(super) fn times(start: Value, end: Value) -> Result<(Ns, Ns), Fault> {
    match interval(start, end, &TIMES)? {
        (0, 0) => Err("no times recorded".into()),
        times => Ok(times),
    }
}
