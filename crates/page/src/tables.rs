//! The tables of a trace: the longest calls, and sums by name.

mod accounts;
mod longest;

use crate::document::Section;
use crate::table::{Cell, Kind, MOST_ROWS, Table};
use crate::timeline::Rows;
use explain::{Explanation, Loss};
use report::{stats, units};
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
    let mut body = longest::table(trace, losses, selection, rows).html();
    for table in accounts::tables(explanation, rows) {
        body.push(&table.html());
    }
    for host in &sums.host {
        body.push(&by_name(&stats::host_title(host, &sums), "Call", &host.rows).html());
    }
    if !sums.ops.is_empty() {
        let titles: Vec<String> =
            sums.devices.iter().map(|device| stats::device_title(device, &sums)).collect();
        let title = if titles.is_empty() { "Device-side activity".to_owned() } else { titles.join(". ") };
        body.push(&by_name(&title, "Operation", &sums.ops).html());
    }
    if !sums.copies.is_empty() {
        body.push(&copies(&sums.copies).html());
    }
    vec![Section { id: "tables", title: "Tables".into(), body, script: "tables", data: Vec::new() }]
}

fn by_name(caption: &str, name: &'static str, rows: &[stats::Row]) -> Table {
    let mut table = Table::new(
        caption,
        &[
            (name, Kind::Text),
            ("Count", Kind::Number),
            ("Total", Kind::Number),
            ("Share", Kind::Number),
            ("Mean", Kind::Number),
            ("Shortest", Kind::Number),
            ("Longest", Kind::Number),
        ],
    );
    let time = |ns: i64| Cell::number(units::duration(ns), ns as f64);
    for row in rows.iter().take(MOST_ROWS) {
        table.push(vec![
            Cell::text(&row.name),
            Cell::number(units::count(row.count), row.count as f64),
            time(row.total_ns),
            Cell::number(units::percent(row.share), row.share),
            time(row.mean_ns.round() as i64),
            time(row.min_ns),
            time(row.max_ns),
        ]);
    }
    if let Some(more) = rows.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        let more = units::counted(more as u64, "more row", "more rows");
        table.remark(format!("{more}: holdup stats lists all."));
    }
    table
}

fn copies(copies: &[stats::Copies]) -> Table {
    let mut table = Table::new(
        &stats::copies_title(copies),
        &[
            ("Direction", Kind::Text),
            ("From", Kind::Text),
            ("To", Kind::Text),
            ("Count", Kind::Number),
            ("Size", Kind::Number),
            ("Total", Kind::Number),
            ("Speed", Kind::Number),
            ("Best", Kind::Number),
        ],
    );
    let speed = |rate: f64| Cell::number(units::throughput((rate * 1e6) as i64, 1_000_000), rate);
    for group in copies {
        table.push(vec![
            Cell::text(group.direction),
            Cell::text(group.source),
            Cell::text(group.destination),
            Cell::number(units::count(group.count), group.count as f64),
            Cell::number(units::bytes(group.bytes), group.bytes as f64),
            Cell::number(units::duration(group.total_ns), group.total_ns as f64),
            speed(group.mean_gb_per_s),
            speed(group.max_gb_per_s),
        ]);
    }
    table
}
