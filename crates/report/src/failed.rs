//! Calls that failed: one line for a header, a table for summaries.

use crate::document::Table;
use crate::escape::visible;
use crate::explanation::place_text;
use crate::place::short;
use crate::units;
use explain::{FailedCalls, Place};

/// `2,448 of 5,382 × cudaLaunchKernel failed: cudaErrorInvalidResourceHandle (400) at qcu.cu:12; 3 calls failed in 2 other
/// ways`; `None` if none failed.
pub(crate) fn line(rows: &[FailedCalls]) -> Option<String> {
    sentence(rows, place_text)
}

/// The line with the place as the verdict has it: the file without its folders.
pub(crate) fn brief(rows: &[FailedCalls]) -> Option<String> {
    sentence(rows, short)
}

fn sentence(rows: &[FailedCalls], place_text: impl Fn(&Place) -> String) -> Option<String> {
    let (first, others) = rows.split_first()?;
    let (count, of) = (units::count(first.count), units::count(first.of));
    let mut text = format!("{count} of {of} × {} failed: {}", visible(&first.call), error(first));
    if let Some(place) = first.places.first() {
        text.push_str(&format!(" at {}", place_text(place)));
    }
    if !others.is_empty() {
        let calls = units::counted(others.iter().map(|row| row.count).sum(), "call", "calls");
        let ways = units::counted(others.len() as u64, "other way", "other ways");
        text.push_str(&format!("; {calls} failed in {ways} (`holdup stats` lists them)"));
    }
    Some(text)
}

/// `cudaErrorInvalidResourceHandle (400)`, or `error 7` without a name.
fn error(row: &FailedCalls) -> String {
    match row.error_name {
        "" => format!("error {}", row.error),
        name => format!("{name} ({})", row.error),
    }
}

/// Calls that failed, with the times of the first and the last. What failed is in one column, which a narrow page cuts.
pub(crate) fn table(rows: &[FailedCalls]) -> Table {
    let place =
        |row: &FailedCalls| row.places.first().map_or(String::new(), |at| format!(" at {}", place_text(at)));
    Table::of(rows)
        .right("Calls", |row| format!("{} of {}", units::count(row.count), units::count(row.of)))
        .right("First", |row| units::duration(row.first_ns))
        .right("Last", |row| if row.count > 1 { units::duration(row.last_ns) } else { String::new() })
        .left("Call, error and place", |row| format!("{} with {}{}", row.call, error(row), place(row)))
        .table()
}
