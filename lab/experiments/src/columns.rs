//! Columns for people: what they are called, and how their values read.

use crate::Cell;
use crate::results::{Row, Unit};

/// Every column of what rows vary, in the order that rows have them.
pub(crate) const COLUMNS: [&str; 28] = [
    "variant",
    "library",
    "call",
    "effect",
    "operation",
    "load",
    "beside",
    "workers",
    "gpus",
    "memory",
    "sync",
    "fork",
    "blocking",
    "submit",
    "connections",
    "schedule",
    "affinity",
    "streams",
    "bytes",
    "length",
    "iteration",
    "kernel-rounds",
    "thread",
    "kernel",
    "loading",
    "run",
    "worker",
    "gpu",
];

/// Every figure, in the order that rows have them.
pub(crate) const FIGURES: [&str; 18] = [
    "per_s",
    "host_ms",
    "ms",
    "events_ms",
    "free_ms",
    "slowest_ms",
    "gflop_per_s",
    "launch_share",
    "stalled_share",
    "longest_ms",
    "gb_per_s",
    "slowdown",
    "iterations_per_s",
    "launch_ms",
    "graph_launch_ms",
    "copy_in_ms",
    "copy_out_ms",
    "synchronize_ms",
];

/// The figures that any row has, in the first such row's order.
pub(crate) fn figures(rows: &[Row]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for figure in rows.iter().flat_map(|row| &row.figures) {
        if !names.contains(&figure.name) {
            names.push(figure.name);
        }
    }
    names
}

/// What stands above a column of what was varied.
pub(crate) fn heading_of(column: &'static str) -> &'static str {
    if column == "connections" { "conn." } else { column }
}

/// Whether a column of what was varied has numbers.
pub(crate) fn is_number(column: &str) -> bool {
    matches!(
        column,
        "workers"
            | "streams"
            | "bytes"
            | "length"
            | "connections"
            | "gpus"
            | "kernel-rounds"
            | "thread"
            | "kernel"
            | "run"
            | "worker"
            | "gpu"
    )
}

pub(crate) fn title(figure: &str) -> &'static str {
    match figure {
        "per_s" => "per second",
        "ms" => "time",
        "host_ms" => "host held",
        "events_ms" => "by events",
        "free_ms" => "in frees",
        "slowest_ms" => "slowest",
        "gflop_per_s" => "computed",
        "launch_share" => "in launches",
        "stalled_share" => "in stalls",
        "longest_ms" => "longest",
        "gb_per_s" => "copied",
        "slowdown" => "slowdown",
        "iterations_per_s" => "iterations",
        figure => crate::calls::call_of(figure).unwrap_or("figure"),
    }
}

pub(crate) fn figure(row: &Row, name: &str) -> String {
    let measured = row.figure(name).filter(|figure| !figure.value.is_nan());
    measured.map_or(String::new(), |figure| Unit::of(name).text(figure.value))
}

pub(crate) fn value(column: &str, cell: &Cell) -> String {
    match cell {
        Cell::Number(bytes) if column == "bytes" => report::units::bytes(*bytes as i64),
        Cell::Number(number) if column == "length" => report::units::count(*number),
        Cell::Nothing => String::from("–"),
        cell => cell.to_string(),
    }
}
