//! Times of nvprof's records.

use crate::sqlite::{Fault, Value, interval};
use trace::Ns;

/// Valid times, ns: unsigned and since the Unix epoch; beyond the end, later arithmetic could overflow.
pub(super) const TIMES: std::ops::Range<Ns> = 0..1 << 61;

/// The start and end of a record, ns; CUPTI writes two zeros if it could not measure them.
pub(super) fn times(start: Value, end: Value) -> Result<(Ns, Ns), Fault> {
    match interval(start, end, &TIMES)? {
        (0, 0) => Err("no times recorded".into()),
        times => Ok(times),
    }
}
