//! The tables of a trace: the longest calls, and sums by name.

mod accounts;
mod longest;
mod time;

use crate::document::Section;
use crate::html::Html;
use crate::table::first_rows;
use crate::timeline::Rows;
use explain::{Explanation, Loss};
use report::document::{Cell, Table};
use report::{stats, units};
use time::time;
use trace::{Selection, Trace};

/// The tables of a trace.
pub(crate) fn sections(
    trace: &Trace,
    explanation: &Explanation,
    losses: &[Loss],
    selection: &Selection,
    rows: &Rows,
) -> Vec<Section> {
    let options = stats::Options { selection: selection.clone(), per_thread: false };
    let sums = stats::build(trace, &explanation.trace.path, &options);
    let mut body = Html::new();
    body.table(&longest::table(trace, losses, selection, rows));
    for table in accounts::tables(explanation, rows) {
        body.table(&table);
    }
    for host in &sums.host {
        body.table(&by_name(stats::host_title(host, &sums), "Call", &host.rows));
    }
    if !sums.ops.is_empty() {
        let titles: Vec<String> =
            sums.devices.iter().map(|device| stats::device_title(device, &sums)).collect();
        let title = if titles.is_empty() { "Device-side activity".to_owned() } else { titles.join(". ") };
        body.table(&by_name(title, "Operation", &sums.ops));
    }
    if !sums.copies.is_empty() {
        body.table(&copies(&sums.copies));
    }
    vec![Section { id: "tables", title: "Tables".into(), body, script: "tables", data: Vec::new() }]
}

fn by_name(caption: String, name: &'static str, rows: &[stats::Row]) -> Table {
    let (shown, remark) = first_rows(rows, "holdup stats lists all");
    let table = Table::of(shown)
        .left(name, |row| row.name.clone())
        .right("Count", |row| Cell::number(units::count(row.count), row.count as f64))
        .right("Total", |row| time(row.total_ns))
        .right("Share", |row| Cell::number(units::percent(row.share), row.share))
        .right("Mean", |row| time(row.mean_ns.round() as i64))
        .right("Shortest", |row| time(row.min_ns))
        .right("Longest", |row| time(row.max_ns))
        .table();
    table.captioned(caption).remarked(remark)
}

fn copies(copies: &[stats::Copies]) -> Table {
    let speed = |rate: f64| Cell::number(units::throughput((rate * 1e6) as i64, 1_000_000), rate);
    let table = Table::of(copies)
        .left("Direction", |group| group.direction)
        .left("From", |group| group.source)
        .left("To", |group| group.destination)
        .right("Count", |group| Cell::number(units::count(group.count), group.count as f64))
        .right("Size", |group| Cell::number(units::bytes(group.bytes), group.bytes as f64))
        .right("Total", |group| time(group.total_ns))
        .right("Speed", |group| speed(group.mean_gb_per_s))
        .right("Best", |group| speed(group.max_gb_per_s));
    table.table().captioned(stats::copies_title(copies))
}
