//! Tables that read without the script; with it they sort, filter and unfold.

mod longest;

use crate::document::Section;
use crate::html::Html;
use crate::timeline::Rows;
use explain::{Explanation, Loss};
use report::{stats, units};
use trace::{Selection, Trace};

/// Rows of a table: what somebody may look through. The page says how many there are.
const MOST_ROWS: usize = 500;

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
    for row in rows {
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

/// How a column sorts, and to which side it keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
}

/// A table to be.
struct Table {
    caption: String,
    columns: Vec<(&'static str, Kind)>,
    rows: Vec<Vec<Cell>>,
    left_out: u64,
}

struct Cell {
    text: String,
    /// What it sorts by; a text sorts by itself.
    value: Option<f64>,
    /// Where a click on it goes in the timeline: row, start, end.
    target: Option<String>,
}

impl Cell {
    fn text(text: &str) -> Cell {
        Cell { text: text.to_owned(), value: None, target: None }
    }

    fn number(text: String, value: f64) -> Cell {
        Cell { text, value: Some(value), target: None }
    }
}

impl Table {
    fn new(caption: &str, columns: &[(&'static str, Kind)]) -> Table {
        Table { caption: caption.to_owned(), columns: columns.to_vec(), rows: Vec::new(), left_out: 0 }
    }

    fn push(&mut self, row: Vec<Cell>) {
        if self.rows.len() < MOST_ROWS {
            self.rows.push(row);
        } else {
            self.left_out += 1;
        }
    }

    fn html(&self) -> Html {
        let mut html = Html::new();
        html.open("div", &[("class", "table")]).open("table", &[]);
        html.leaf("caption", &[], &self.caption);
        html.open("thead", &[]).open("tr", &[]);
        for (title, kind) in &self.columns {
            html.leaf("th", &[("scope", "col"), ("class", kind.class())], title);
        }
        html.close("tr").close("thead").open("tbody", &[]);
        for row in &self.rows {
            html.open("tr", &[]);
            for (cell, (_, kind)) in row.iter().zip(&self.columns) {
                html.push(&cell.html(*kind));
            }
            html.close("tr");
        }
        html.close("tbody").close("table");
        if self.left_out > 0 {
            let rows = units::counted(self.left_out, "more row", "more rows");
            html.leaf(
                "p",
                &[("class", "remark")],
                &format!("{rows}: holdup stats and holdup calls list all."),
            );
        }
        html.close("div");
        html
    }
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Number => "number",
        }
    }
}

impl Cell {
    fn html(&self, kind: Kind) -> Html {
        let value = self.value.map(|value| value.to_string());
        let mut attributes = vec![("class", kind.class())];
        attributes.extend(value.as_deref().map(|value| ("data-value", value)));
        let mut html = Html::new();
        html.open("td", &attributes);
        match &self.target {
            Some(target) => html.leaf("a", &[("href", "#timeline"), ("data-box", target)], &self.text),
            // Kernels' names are long: they unfold.
            None if kind == Kind::Text => html.leaf("span", &[], &self.text),
            None => html.text(&self.text),
        };
        html.close("td");
        html
    }
}
