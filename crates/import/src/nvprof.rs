//! TODO nvprof

use crate::Problem;
use trace::Trace;

/// Reads the trace.
pub(crate) fn import(db: &rusqlite::Connection) -> Result<Trace, Problem> {
    let _ = db;
    todo!()
}
