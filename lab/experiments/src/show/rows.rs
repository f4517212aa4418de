//! Tables of rows, the same in text, Markdown and pages.

use super::{charts, has_interval, interval, measured, measured_in, shows_errors, spread, varied, varying};
use crate::experiment::{Column, View};
use crate::results::{Change, Comparison, Results, Row};
use report::document::{Cell, Kind, Table};

/// All rows, with bars of the first figure; mean times of calls have their own table in text.
pub(super) fn whole(results: &Results, has_call_times: bool) -> Table {
    let varying = varying(results);
    let mut figures = measured_in(results, &results.rows);
    figures.retain(|figure| has_call_times || !figure.is_call_time());
    let value = |row: &Row| figures.first().map_or(f64::NAN, |first| row.value(first.name));
    let most = results.rows.iter().map(value).fold(0.0, f64::max);
    let mut table = Table::of(&results.rows);
    for column in &varying {
        table = table.column(kind(column), column.title, |row| varied_cell(row, column));
    }
    for (at, column) in figures.iter().enumerate() {
        // What was not measured sorts below everything that was.
        table = table.right(column.title, |row| {
            let value = row.value(column.name);
            Cell::number(measured(row, column), if value.is_nan() { -1.0 } else { value })
        });
        let spread = |row: &Row| Cell { value: spread_of(row, column), ..Cell::from(spread(row, column)) };
        table = table.when(at == 0 && results.has_spread(), |table| table.right("±", spread));
        let has_interval = has_interval(results, column);
        table =
            table.when(has_interval, |table| table.column(Kind::Range, "95 %", |row| interval(row, column)));
        let bar =
            |row: &Row| Some(value(row) / most).filter(|part| part.is_finite()).map_or("".into(), Cell::bar);
        table = table.when(at == 0, |table| table.column(Kind::Bar, "", bar));
    }
    let error = |row: &Row| match row.max_error {
        Some(0.0) => Cell::number("0", 0.0),
        Some(error) => Cell::number(format!("{error:.1e}"), error),
        None if results.bench.simulated => Cell::from("not computed"),
        None => Cell::default(),
    };
    table.when(shows_errors(results), |table| table.right("max error", error)).table()
}

fn kind(column: &Column) -> Kind {
    if column.is_number() { Kind::Number } else { Kind::Text }
}

/// Value that a row varies. A row without the value sorts below all that have it.
fn varied_cell(row: &Row, column: &Column) -> Cell {
    let text = varied(row, column);
    match row.cell(column.name) {
        Some(crate::Cell::Number(number)) => Cell::number(text, *number as f64),
        Some(_) if column.is_number() => Cell::number(text, -1.0),
        _ => Cell::from(text),
    }
}

fn spread_of(row: &Row, column: &Column) -> Option<f64> {
    row.figure(column.name).and_then(|figure| figure.spread)
}

/// The rows of workers, for the row of each line with the most workers, and its last run.
pub(super) fn each(results: &Results) -> Option<Table> {
    let View::Across(column, follow) = results.experiment.view else { return None };
    let but: Vec<&str> = follow.iter().copied().chain([column, "run"]).collect();
    let shown = results.rows.iter().filter(|row| {
        let alike = |other: &&Row| other.is_like(row, &but);
        let place = |row: &Row| (row.number(column), row.number("run"));
        let more = |other: &Row| place(other) > place(row);
        !row.each.is_empty() && !results.rows.iter().filter(alike).any(more)
    });
    // The name of a row is beside its first worker.
    let workers = shown.flat_map(|row| {
        let name = charts::name(results, row, follow);
        let name = move |at: usize| if at == 0 { name.clone() } else { String::new() };
        row.each.iter().enumerate().map(move |(at, worker)| (worker, name(at)))
    });
    let workers: Vec<(&Row, String)> = workers.collect();
    let (first, _) = workers.first()?;
    let columns: Vec<Column> = first.varied.iter().map(|(name, _)| results.experiment.column(name)).collect();
    let mut table = Table::of(&workers);
    for column in &columns {
        table = table.column(kind(column), column.title, |(worker, _)| varied(worker, column));
    }
    for column in measured_in(results, workers.iter().map(|(worker, _)| *worker)) {
        table = table.right(column.title, |(worker, _)| measured(worker, &column));
    }
    let table = table.left("result", |(worker, _)| checked(results, worker));
    Some(table.left("of", |(_, name)| name.clone()).table())
}

/// Whether a worker's result was right.
fn checked(results: &Results, worker: &Row) -> String {
    match worker.max_error {
        None if results.bench.simulated => String::from("not computed"),
        None => String::new(),
        Some(0.0) => String::from("PASS"),
        Some(error) => format!("FAIL, off by {error:.1e}"),
    }
}

/// The rows that changed, if any did.
pub(super) fn changed(results: &Results, comparison: &Comparison) -> Option<Table> {
    let changed: Vec<&Change> = comparison.changes.iter().filter(|change| change.beyond_spread).collect();
    let name = |change: &Change| {
        let cells = change.varied.iter().map(|(name, cell)| results.experiment.column(name).text(cell));
        cells.collect::<Vec<_>>().join(" ")
    };
    let gain = |change: &&Change| change.gain().unwrap_or_default();
    let table = Table::of(&changed)
        .right("before", |change| change.unit.text(change.before))
        .right("now", |change| change.unit.text(change.now))
        .right("times", |change| format!("{:.2}", change.ratio()))
        .left("", |change| change.word())
        .when(comparison.has_gains(), |table| table.left("95 %", gain))
        .left("row", |change| name(change));
    (!changed.is_empty()).then(|| table.table())
}
