//! Results for people.

use crate::across::Across;
use crate::baseline::Comparison;
use crate::calls::call_of;
use crate::columns::{figure, figures, heading_of, is_number, title, value};
use crate::results::{Results, Row, Unit};
use crate::{Cell, View, charts};
use report::table::{Align, Table};
use report::{Page, paragraph, plot};

/// Columns of a bar at least.
const SHORTEST_BAR: usize = 6;

/// The results with their verdict, without the traces' listings.
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
        text.push_str(&paragraph(&format!("left out: {line}"), page));
    }
    for note in &results.notes {
        text.push_str(&paragraph(&format!("note: {note}"), page));
    }
    if let Some(partial) = &results.partial {
        text.push_str(&paragraph(&format!("PARTIAL: {partial}"), page));
    }
    if let Some(comparison) = comparison {
        text.push_str(&changes(comparison, page));
    }
    text
}

/// What each worker did, of every line's row with the most of them, and of its last run.
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
    let mut table = Table::new(&[
        ("worker", Align::Right),
        ("gpu", Align::Right),
        ("time", Align::Right),
        ("computed", Align::Right),
        ("result", Align::Left),
        ("of", Align::Left),
    ]);
    for row in &shown {
        let mut name = charts::name(results, row, follow);
        for worker in &row.each {
            let cells = ["worker", "gpu"].map(|name| worker.text(name));
            let figures = ["ms", "gflop_per_s"].map(|name| figure(worker, name));
            let result = match worker.max_error {
                None if results.bench.simulated => String::from("not computed"),
                None => String::new(),
                Some(0.0) => String::from("PASS"),
                Some(error) => format!("FAIL, off by {error:.1e}"),
            };
            let name = std::mem::take(&mut name);
            table.push(cells.into_iter().chain(figures).chain([result, name]).collect());
        }
    }
    (!shown.is_empty()).then_some(table)
}

/// Which experiment, where, how, and what all rows have in common.
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

/// `all with bytes 16 MiB, rounds 1`; nothing where nothing is the same in all rows.
pub(crate) fn fixed(results: &Results) -> Option<String> {
    let (_, fixed) = results.columns();
    let said = |(name, cell): (&str, Cell)| format!("{name} {}", value(name, &cell));
    let fixed: Vec<String> = fixed.into_iter().map(said).collect();
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

/// A row each, with a bar for its first figure.
fn table(results: &Results, page: Page) -> String {
    whole(results, Some(page)).boxed(Some(page.columns))
}

/// A row each, with bars where the page has room for them.
fn whole(results: &Results, page: Option<Page>) -> Table {
    let (varying, _) = results.columns();
    let mut figures = figures(&results.rows);
    // Those have a table of their own.
    figures.retain(|figure| call_of(figure).is_none());
    // That every result was right is a sentence of the verdict.
    let errors = results.experiment.checked
        || results.rows.iter().any(|row| row.max_error.is_some_and(|error| error != 0.0));
    let spread = results.has_spread();
    let mut titles: Vec<(&'static str, Align)> =
        varying.iter().map(|name| (heading_of(name), align(name))).collect();
    titles.extend(figures.iter().map(|name| (title(name), Align::Right)));
    if spread {
        titles.insert(varying.len() + 1, ("±", Align::Right));
    }
    if errors {
        titles.push(("max error", Align::Right));
    }
    let cells = |row: &Row| -> Vec<String> {
        let mut cells: Vec<String> = varying
            .iter()
            .map(|name| row.cell(name).map_or(String::new(), |cell| value(name, cell)))
            .collect();
        cells.extend(figures.iter().map(|name| figure(row, name)));
        if spread {
            let spread = row.figures.first().and_then(|first| Some(Unit::of(first.name).text(first.spread?)));
            cells.insert(varying.len() + 1, spread.unwrap_or_default());
        }
        if errors {
            let none = if results.bench.simulated { "not computed" } else { "" };
            cells.push(row.max_error.map_or(none.to_owned(), max_error));
        }
        cells
    };
    let rows: Vec<Vec<String>> = results.rows.iter().map(cells).collect();
    let first = figures.first().copied().unwrap_or_default();
    let most =
        results.rows.iter().map(|row| row.value(first)).filter(|value| !value.is_nan()).fold(0.0, f64::max);
    let bar_columns = page.and_then(|page| room(&titles, &rows, page));
    if bar_columns.is_some() {
        titles.push(("", Align::Left));
    }
    let mut table = Table::new(&titles);
    for (row, mut cells) in results.rows.iter().zip(rows) {
        cells.extend(bar_columns.map(|columns| plot::bar(row.value(first), most, columns)));
        table.push(cells);
    }
    table
}

/// An error with two digits; that of what is right is 0.
fn max_error(error: f64) -> String {
    if error == 0.0 { String::from("0") } else { format!("{error:.1e}") }
}

/// What is left of a line for bars, if it is worth drawing some.
fn room(titles: &[(&'static str, Align)], rows: &[Vec<String>], page: Page) -> Option<usize> {
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.chain([titles[at].0.chars().count()]).max().unwrap_or(0) + 3
    };
    let taken: usize = (0..titles.len()).map(widest).sum();
    Some(page.columns.saturating_sub(taken + 4)).filter(|columns| *columns >= SHORTEST_BAR)
}

fn align(column: &str) -> Align {
    if is_number(column) { Align::Right } else { Align::Left }
}

fn matrix(results: &Results, page: Page) -> String {
    match (results.experiment.chart)(results) {
        plot::Chart::Heat(heat) => {
            format!("{}:\n{}", heat.value, plot::matrix(&heat, page))
        }
        _ => table(results, page),
    }
}

/// Rows that changed, and what that comes to.
fn changes(comparison: &Comparison, page: Page) -> String {
    let table = changed(comparison).map(|table| table.boxed(Some(page.columns)));
    format!("\n{}{}", paragraph(&comparison.verdict(), page), table.unwrap_or_default())
}

/// The rows that changed, if any did.
pub(crate) fn changed(comparison: &Comparison) -> Option<Table> {
    let changed: Vec<_> = comparison.changes.iter().filter(|change| change.beyond_spread).collect();
    if changed.is_empty() {
        return None;
    }
    let mut table = Table::new(&[
        ("before", Align::Right),
        ("now", Align::Right),
        ("times", Align::Right),
        ("", Align::Left),
        ("row", Align::Left),
    ]);
    for change in changed {
        let unit = Unit::of(change.figure);
        let name: Vec<String> = change.varied.iter().map(|(name, cell)| value(name, cell)).collect();
        table.push(vec![
            unit.text(change.before),
            unit.text(change.now),
            format!("{:.2}", change.ratio()),
            change.word().to_owned(),
            name.join(" "),
        ]);
    }
    Some(table)
}
