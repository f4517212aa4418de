//! Numbers in cells of printed rows.

use super::columns::{Column, Table};

/// The whole number in a column.
pub(super) fn number(table: &Table, cells: &[String], column: Column) -> Option<i64> {
    table.cell(cells, column)?.parse().ok()
}

/// The name of `scale(float*) [423]`, and the id of the launch.
pub(super) fn numbered(name: &str) -> (&str, Option<i64>) {
    let Some((plain, number)) = name.rsplit_once(" [") else { return (name, None) };
    match number.strip_suffix(']').map(str::parse) {
        Some(Ok(number)) => (plain, Some(number)),
        _ => (name, None),
    }
}
