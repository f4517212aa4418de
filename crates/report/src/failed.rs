//! Calls that failed: one line for a header, a table for summaries.

use crate::escape::visible;
use crate::explanation::place_text;
use crate::layout::wrap;
use crate::table::{Align, Table};
use crate::units;
use explain::FailedCalls;

/// `2,448 calls failed: cudaLaunchKernel with cudaErrorInvalidResourceHandle (400) at qcu.cu:12; and 3 other kinds`; `None` if
/// none failed.
pub(crate) fn line(rows: &[FailedCalls]) -> Option<String> {
    let first = rows.first()?;
    let count = rows.iter().map(|row| row.count).sum();
    let mut text = units::counted(count, "call failed", "calls failed");
    let most = if rows.len() > 1 && first.count > 1 {
        format!("{} × ", units::count(first.count))
    } else {
        String::new()
    };
    text.push_str(&format!(": {most}{} with {}", visible(&first.call), error(first)));
    if let Some(place) = first.places.first() {
        text.push_str(&format!(" at {}", place_text(place)));
    }
    if rows.len() > 1 {
        let others = units::counted(rows.len() as u64 - 1, "other kind", "other kinds");
        text.push_str(&format!("; and {others} (`holdup stats` lists them)"));
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

/// The line below a header, indented; nothing if no call failed.
pub(crate) fn header(rows: &[FailedCalls], columns: usize) -> String {
    let lines = line(rows).map_or(Vec::new(), |line| wrap(&line, columns - 4));
    lines.into_iter().map(|line| format!("    {line}\n")).collect()
}

/// Calls that failed, with the times of the first and the last. What failed is in one column, which a narrow page cuts.
pub(crate) fn table(rows: &[FailedCalls]) -> Table {
    let titles = [("Calls", Align::Right), ("First", Align::Right), ("Last", Align::Right)];
    let mut table = Table::new(&[&titles[..], &[("Call, error and place", Align::Left)]].concat());
    for row in rows {
        let place = row.places.first().map_or(String::new(), |place| format!(" at {}", place_text(place)));
        table.push(vec![
            units::count(row.count),
            units::span(row.first_ns),
            if row.count > 1 { units::span(row.last_ns) } else { String::new() },
            format!("{} with {}{place}", visible(&row.call), error(row)),
        ]);
    }
    table.drop_empty_columns();
    table
}
