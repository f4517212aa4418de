//! Properties that the rest of holdup relies on in a trace that was read.

use crate::Ns;
use crate::error::{CellError, TableError};
use crate::model::*;

/// No time is as far as this from another, ns.
pub const FAR: Ns = 1 << 62;

/// Checks that every row number is in range, that no interval ends before it starts, and that the parts of an interval fit
/// into it.
pub(crate) fn check(trace: &Trace) -> Result<(), TableError> {
    for (row, caller) in trace.stacks.caller.iter().enumerate() {
        if caller.is_some() && caller.index() >= row {
            let problem = CellError::Dangling {
                column: "caller",
                row,
                target: caller.index(),
                table: "the rows before it",
                rows: row,
            };
            return Err(TableError { table: "stacks", problem });
        }
    }
    let rows = trace.rows();
    macro_rules! references {
        ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
            let (table, checked) = ($columns::NAME, trace.$field.check_references(&rows));
            checked.map_err(|problem| TableError { table, problem })?;
        )*};
    }
    tables!(references);
    intervals("calls", &trace.calls.start, &trace.calls.end)?;
    intervals("ops", &trace.ops.start, &trace.ops.end)?;
    intervals("syncs", &trace.syncs.start, &trace.syncs.end)?;
    intervals("waits", &trace.waits.start, &trace.waits.end)?;
    intervals("ranges", &trace.ranges.start, &trace.ranges.end)?;
    intervals("states", &trace.states.start, &trace.states.end)?;
    intervals("limits", &trace.limits.start, &trace.limits.end)?;
    intervals("samples", &trace.samples.at, &trace.samples.at)?;
    amounts(trace)?;
    in_order(&trace.states)
}

/// Checks times and counts that are no moments.
fn amounts(trace: &Trace) -> Result<(), TableError> {
    macro_rules! fits {
        ($table:ident . $column:ident <= $most:expr) => {
            let most = $most;
            for (row, &value) in trace.$table.$column.iter().enumerate() {
                let most: i64 = most(row);
                if !(0..=most).contains(&value) {
                    let problem = CellError::Amount { column: stringify!($column), row, value, most };
                    return Err(TableError { table: stringify!($table), problem });
                }
            }
        };
    }
    let (waits, states) = (&trace.waits, &trace.states);
    fits!(waits.handoff <= |row: usize| waits.end[row] - waits.start[row]);
    fits!(states.running <= |row: usize| states.end[row] - states.start[row]);
    fits!(states.runnable <= |row: usize| states.end[row] - states.start[row] - states.running[row]);
    fits!(limits.quota <= |_| i64::MAX);
    fits!(limits.throttled <= |_| FAR);
    fits!(tallies.count <= |_| i64::MAX);
    fits!(tallies.time <= |_| FAR);
    Ok(())
}

/// Checks that the states of each thread are in order and do not overlap.
fn in_order(states: &States) -> Result<(), TableError> {
    let threads = states.thread.iter().filter_map(|thread| thread.some()).max();
    let mut last_end = vec![Ns::MIN; threads.map_or(0, |thread| thread.index() + 1)];
    for (row, thread) in states.thread.iter().enumerate() {
        let Some(thread) = thread.some() else { continue };
        let (start, end) = (states.start[row], last_end[thread]);
        if start < end {
            return Err(TableError { table: "states", problem: CellError::Overlap { row, start, end } });
        }
        last_end[thread] = states.end[row];
    }
    Ok(())
}

/// Checks that no interval ends before it starts, and that times are small enough: no later subtraction overflows an
/// `i64`.
fn intervals(table: &'static str, start: &[Ns], end: &[Ns]) -> Result<(), TableError> {
    let fits = |(start, end): (&Ns, &Ns)| start <= end && *start >= -FAR / 2 && *end < FAR / 2;
    match start.iter().zip(end).position(|pair| !fits(pair)) {
        None => Ok(()),
        Some(row) => {
            let problem = CellError::Interval { row, start: start[row], end: end[row] };
            Err(TableError { table, problem })
        }
    }
}
