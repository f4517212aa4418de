//! Results as text, and the tables that text and Markdown share.

use super::across::Across;
use super::{charts, has_interval, interval, measured, measured_in, shows_errors, spread, varied, varying};
use crate::experiment::{Cell, Column, View};
use crate::results::{Comparison, Results, Row};
use report::table::{Align, Table};
use report::{Page, paragraph, plot};

/// The least width of a bar.
const SHORTEST_BAR: usize = 6;

/// The results with their verdict, without listings of traces.
pub fn text(results: &Results, comparison: Option<&Comparison>, page: Page) -> String {
    let mut text = heading(results, page);
    if !results.rows.is_empty() {
        match results.experiment.view {
            View::Matrix => text.push_str(&matrix(results, page)),
            View::Across(column, follow) => {
                let lines = Across::new(results, column, follow).and_then(|across| across.text(page));
                text.push_str(&lines.unwrap_or_else(|| table(results, page)));
                if let Some(calls) = Across::calls(results) {
                    let lines = calls.text(page);
                    let lines = lines.unwrap_or_else(|| calls.table().boxed(Some(page.columns)));
                    text.push_str(&format!("\n{lines}"));
                }
                if let Some(each) = each(results) {
                    text.push_str(&format!("\neach worker\n{}", each.boxed(Some(page.columns))));
                }
            }
            View::Table | View::Listings => text.push_str(&table(results, page)),
        }
    }
    text.push('\n');
    for sentence in results.verdict() {
        text.push_str(&paragraph(&sentence, page));
    }
    for line in &results.left_out {
        text.push_str(&paragraph(&format!("not run: {line}"), page));
    }
    for note in &results.notes {
        text.push_str(&paragraph(&format!("note: {note}"), page));
    }
    if let Some(partial) = &results.partial {
        text.push_str(&paragraph(&format!("PARTIAL: {partial}"), page));
    }
    if let Some(comparison) = comparison {
        text.push_str(&changes(results, comparison, page));
    }
    text
}

/// The rows of workers, for the row of each line with the most workers, and its last run.
fn each(results: &Results) -> Option<Table> {
    let View::Across(column, follow) = results.experiment.view else { return None };
    let but: Vec<&str> = follow.iter().copied().chain([column, "run"]).collect();
    let shown = results.rows.iter().filter(|row| {
        let alike = |other: &&Row| other.is_like(row, &but);
        let place = |row: &Row| (row.number(column), row.number("run"));
        let more = |other: &Row| place(other) > place(row);
        !row.each.is_empty() && !results.rows.iter().filter(alike).any(more)
    });
    let shown: Vec<&Row> = shown.collect();
    let workers = || shown.iter().flat_map(|row| &row.each);
    let first = workers().next()?;
    let columns: Vec<Column> = first.varied.iter().map(|(name, _)| results.experiment.column(name)).collect();
    let figures = measured_in(results, workers());
    let mut titles: Vec<(&str, Align)> = columns.iter().map(|column| (column.title, align(column))).collect();
    titles.extend(figures.iter().map(|column| (column.title, Align::Right)));
    titles.extend([("result", Align::Left), ("of", Align::Left)]);
    let mut table = Table::new(&titles);
    for row in &shown {
        let mut name = charts::name(results, row, follow);
        for worker in &row.each {
            let mut cells: Vec<String> = columns.iter().map(|column| varied(worker, column)).collect();
            cells.extend(figures.iter().map(|column| measured(worker, column)));
            cells.push(checked(results, worker));
            cells.push(std::mem::take(&mut name));
            table.push(cells);
        }
    }
    Some(table)
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

/// The experiment, the device, the rounds, and the columns that are the same in all rows.
fn heading(results: &Results, page: Page) -> String {
    let experiment = results.experiment;
    let mut text = paragraph(&format!("{} · {}", experiment.name, results.place()), page);
    text.push_str(&paragraph(&format!("    {}", experiment.question), page));
    if let Some(fixed) = fixed(results) {
        text.push_str(&paragraph(&format!("    {fixed}"), page));
    }
    text.push('\n');
    text
}

/// `all with bytes 16 MiB, rounds 1`; nothing if every column differs.
pub(crate) fn fixed(results: &Results) -> Option<String> {
    let (_, fixed) = results.columns();
    let shown = |(name, cell): (&'static str, Cell)| {
        format!("{name} {}", results.experiment.column(name).text(&cell))
    };
    let fixed: Vec<String> = fixed.into_iter().map(shown).collect();
    (!fixed.is_empty()).then(|| format!("all with {}", fixed.join(", ")))
}

/// The rows in Markdown.
pub(crate) fn rows(results: &Results) -> String {
    let table = match results.experiment.view {
        View::Across(column, follow) => Across::new(results, column, follow).map(|across| across.table()),
        View::Matrix => match (results.experiment.chart)(results) {
            plot::Chart::Heat(heat) => return plot::matrix_markdown(&heat),
            _ => None,
        },
        View::Table | View::Listings => None,
    };
    let calls = Across::calls(results).map(|calls| format!("\n{}", calls.table().markdown()));
    let table = table.unwrap_or_else(|| whole(results, None));
    let each = each(results).map(|each| format!("\n{}", each.markdown()));
    format!("{}{}{}", table.markdown(), calls.unwrap_or_default(), each.unwrap_or_default())
}

/// All rows, with bars of the first figure.
fn table(results: &Results, page: Page) -> String {
    whole(results, Some(page)).boxed(Some(page.columns))
}

/// All rows, with bars if the page has room for them.
fn whole(results: &Results, page: Option<Page>) -> Table {
    let varying = varying(results);
    let mut figures = measured_in(results, &results.rows);
    // Mean times of calls have their own table.
    figures.retain(|figure| !figure.is_call_time());
    let first = figures.first().copied();
    let has_spread = results.has_spread();
    let errors = shows_errors(results);
    let mut titles: Vec<(&'static str, Align)> =
        varying.iter().map(|column| (column.title, align(column))).collect();
    for (at, column) in figures.iter().enumerate() {
        titles.push((column.title, Align::Right));
        titles.extend((at == 0 && has_spread).then_some(("±", Align::Right)));
        titles.extend(has_interval(results, column).then_some(("95 %", Align::Right)));
    }
    if errors {
        titles.push(("max error", Align::Right));
    }
    let cells = |row: &Row| -> Vec<String> {
        let mut cells: Vec<String> = varying.iter().map(|column| varied(row, column)).collect();
        for (at, column) in figures.iter().enumerate() {
            cells.push(measured(row, column));
            cells.extend((at == 0 && has_spread).then(|| spread(row, column)));
            cells.extend(has_interval(results, column).then(|| interval(row, column)));
        }
        if errors {
            let none = if results.bench.simulated { "not computed" } else { "" };
            cells.push(row.max_error.map_or(none.to_owned(), max_error));
        }
        cells
    };
    let rows: Vec<Vec<String>> = results.rows.iter().map(cells).collect();
    let value = |row: &Row| first.map_or(f64::NAN, |first| row.value(first.name));
    let most = results.rows.iter().map(value).filter(|value| !value.is_nan()).fold(0.0, f64::max);
    let bar_columns = page.and_then(|page| room(&titles, &rows, page));
    if bar_columns.is_some() {
        titles.push(("", Align::Left));
    }
    let mut table = Table::new(&titles);
    for (row, mut cells) in results.rows.iter().zip(rows) {
        cells.extend(bar_columns.map(|columns| plot::bar(value(row), most, columns)));
        table.push(cells);
    }
    table
}

/// An error with two digits; 0 for a right result.
fn max_error(error: f64) -> String {
    if error == 0.0 { String::from("0") } else { format!("{error:.1e}") }
}

/// The width that is left for bars, if it is enough.
fn room(titles: &[(&'static str, Align)], rows: &[Vec<String>], page: Page) -> Option<usize> {
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.chain([titles[at].0.chars().count()]).max().unwrap_or(0) + 3
    };
    let taken: usize = (0..titles.len()).map(widest).sum();
    Some(page.columns.saturating_sub(taken + 4)).filter(|columns| *columns >= SHORTEST_BAR)
}

fn align(column: &Column) -> Align {
    if column.is_number() { Align::Right } else { Align::Left }
}

fn matrix(results: &Results, page: Page) -> String {
    match (results.experiment.chart)(results) {
        plot::Chart::Heat(heat) => {
            format!("{}:\n{}", heat.value, plot::matrix(&heat, page))
        }
        _ => table(results, page),
    }
}

/// The rows that changed, after a summary.
fn changes(results: &Results, comparison: &Comparison, page: Page) -> String {
    let table = changed(results, comparison).map(|table| table.boxed(Some(page.columns)));
    format!("\n{}{}", paragraph(&comparison.verdict(), page), table.unwrap_or_default())
}

/// The rows that changed, if any did.
pub(crate) fn changed(results: &Results, comparison: &Comparison) -> Option<Table> {
    let changed: Vec<_> = comparison.changes.iter().filter(|change| change.beyond_spread).collect();
    if changed.is_empty() {
        return None;
    }
    let mut titles =
        vec![("before", Align::Right), ("now", Align::Right), ("times", Align::Right), ("", Align::Left)];
    let has_gains = comparison.has_gains();
    titles.extend(has_gains.then_some(("95 %", Align::Left)));
    titles.push(("row", Align::Left));
    let mut table = Table::new(&titles);
    for change in changed {
        let cells = change.varied.iter().map(|(name, cell)| results.experiment.column(name).text(cell));
        let name: Vec<String> = cells.collect();
        let mut cells = vec![
            change.unit.text(change.before),
            change.unit.text(change.now),
            format!("{:.2}", change.ratio()),
            change.word().to_owned(),
        ];
        cells.extend(has_gains.then(|| change.gain().unwrap_or_default()));
        cells.push(name.join(" "));
        table.push(cells);
    }
    Some(table)
}
