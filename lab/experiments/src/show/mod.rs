//! Results for people: text, Markdown, a page, and plots; and the catalogue, single workloads and devices as text.

mod across;
pub(crate) mod call_times;
pub(crate) mod charts;
mod document;
mod html;
mod list;
mod machine;
mod rows;
mod timelines;
mod workload;

pub use document::document;
pub use html::html;
pub use list::{describe, list, list_json};
pub use machine::{Fact, Machine, Sheet};
pub use workload::{single, single_json};

use crate::experiment::Column;
use crate::results::{Results, Row};

/// The columns of the figures that any of those rows has, in the order of the first row that has them.
fn measured_in<'r>(results: &Results, rows: impl IntoIterator<Item = &'r Row>) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for figure in rows.into_iter().flat_map(|row| &row.figures) {
        if !columns.iter().any(|column| column.name == figure.name) {
            columns.push(results.experiment.column(figure.name));
        }
    }
    columns
}

/// The columns that rows vary, without those that are the same in all rows.
fn varying(results: &Results) -> Vec<Column> {
    let (varying, _) = results.columns();
    varying.into_iter().map(|name| results.experiment.column(name)).collect()
}

/// Value that a row varies, as a cell of a table.
fn varied(row: &Row, column: &Column) -> String {
    row.cell(column.name).map_or(String::new(), |cell| column.text(cell))
}

/// A row's figure with its unit; empty where it was not measured.
fn measured(row: &Row, column: &Column) -> String {
    let figure = row.figure(column.name).filter(|figure| !figure.value.is_nan());
    figure.map_or(String::new(), |figure| column.unit().text(figure.value))
}

/// The spread of a row's figure with its unit; empty where it is unknown.
fn spread(row: &Row, column: &Column) -> String {
    let spread = row.figure(column.name).and_then(|figure| figure.spread);
    spread.map_or(String::new(), |spread| column.unit().text(spread))
}

/// Whether tables have a column of a figure's intervals: if it compares rows that could be judged.
fn has_interval(results: &Results, column: &Column) -> bool {
    results.rows.iter().any(|row| row.figure(column.name).is_some_and(|figure| figure.interval.is_some()))
}

/// The interval of a row's figure with its unit; empty where it has none.
fn interval(row: &Row, column: &Column) -> String {
    let figure = row.figure(column.name);
    figure.and_then(|figure| figure.interval_text(column.unit())).unwrap_or_default()
}

/// Whether tables have a column of errors: not where each is 0 and the verdict says so.
fn shows_errors(results: &Results) -> bool {
    let is_wrong = |row: &Row| row.max_error.is_some_and(|error| error != 0.0);
    results.experiment.checked || results.rows.iter().any(is_wrong)
}
