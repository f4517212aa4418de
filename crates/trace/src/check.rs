//! What the rest of holdup relies on in a trace that was read.

use crate::cell::CellError;
use crate::{Ns, States, TableError, Trace};

/// No time is as far as this from another, ns.
pub const FAR: Ns = 1 << 62;

/// Checks that every row number is in range, that no interval ends before it starts, and that the parts of an interval fit
/// into it.
pub(crate) fn check(trace: &Trace) -> Result<(), TableError> {
    macro_rules! refers {
        ($table:ident . $column:ident -> $target:ident) => {
            let rows = trace.$target.len();
            let dangling = trace.$table.$column.iter().position(|id| id.is_some() && id.index() >= rows);
            if let Some(row) = dangling {
                let target = trace.$table.$column[row].index();
                let (column, table) = (stringify!($column), stringify!($target));
                let problem = CellError::Dangling { column, row, target, table, rows };
                return Err(TableError { table: stringify!($table), problem });
            }
        };
    }
    refers!(threads.process -> processes);
    refers!(contexts.process -> processes);
    refers!(contexts.device -> devices);
    refers!(streams.context -> contexts);
    refers!(calls.thread -> threads);
    refers!(calls.stack -> stacks);
    refers!(calls.range -> ranges);
    refers!(ops.stream -> streams);
    refers!(ops.call -> calls);
    refers!(syncs.process -> processes);
    refers!(syncs.stream -> streams);
    refers!(syncs.call -> calls);
    refers!(waits.thread -> threads);
    refers!(waits.call -> calls);
    refers!(waits.holder -> threads);
    refers!(waits.holder_call -> calls);
    refers!(waits.releaser -> threads);
    refers!(waits.releaser_call -> calls);
    refers!(waits.stack -> stacks);
    refers!(waits.holder_stack -> stacks);
    refers!(waits.releaser_stack -> stacks);
    refers!(arguments.call -> calls);
    refers!(arguments.stream -> streams);
    refers!(ranges.thread -> threads);
    refers!(ranges.stack -> stacks);
    refers!(states.thread -> threads);
    refers!(limits.process -> processes);
    refers!(samples.thread -> threads);
    refers!(samples.stack -> stacks);
    refers!(tallies.thread -> threads);
    refers!(stacks.frame -> frames);
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
        let (start, end) = (states.start[row], last_end[thread.index()]);
        if start < end {
            return Err(TableError { table: "states", problem: CellError::Overlap { row, start, end } });
        }
        last_end[thread.index()] = states.end[row];
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
