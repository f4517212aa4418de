//! The accounts as tables: of GPUs and threads, of what operations waited for, and of slow steps.

use super::time::time;
use crate::table::first_rows;
use crate::timeline::Rows;
use explain::{Cause, Explanation, SlowStep, Steps};
use report::bars::{Bar, BarPart, bars, place, streams};
use report::document::{Cell, Table, Target};
use report::units;
use trace::Ns;

/// Command that has the rows that a table leaves out.
const ALL: &str = "holdup explain --format json has all";

/// The tables that have rows.
pub(super) fn tables(explanation: &Explanation, rows: &Rows) -> Vec<Table> {
    let accounts = &explanation.accounts;
    let slow = explanation.steps.as_ref().filter(|steps| !steps.slow.is_empty());
    let mut tables: Vec<Table> = slow.map(|steps| slow_steps(steps, rows)).into_iter().collect();
    let all = bars(accounts);
    if !all.is_empty() {
        tables.push(parts("Where the time of GPUs and threads went", &all));
    }
    // That starts take a while is of no interest.
    let is_late = |cause: Cause| cause != Cause::LaunchLatency;
    if accounts.streams.iter().flat_map(|stream| &stream.waiting).any(|part| is_late(part.cause)) {
        tables.push(parts("What operations waited for once they were ready", &streams(accounts)));
    }
    tables
}

/// A row for each part of each bar.
fn parts(caption: &str, bars: &[Bar]) -> Table {
    let parts: Vec<_> = bars.iter().flat_map(|bar| rows_of(bar).map(move |part| (bar, part))).collect();
    let has_places = parts.iter().any(|(_, part)| !part.place.is_empty());
    let of = |bar: &Bar, part: &BarPart| match part.is_held {
        true => format!("{}, held back", bar.of),
        false => bar.of.clone(),
    };
    let (shown, remark) = first_rows(&parts, ALL);
    let table = Table::of(shown)
        .left("Of", |(bar, part)| of(bar, part))
        .right("Share", |(_, part)| Cell::number(&part.percent, part.share))
        .right("Time", |(_, part)| Cell::number(&part.time, part.ns as f64))
        .left("Cause", |(_, part)| part.name)
        .when(has_places, |columns| columns.left("Where", |(_, part)| part.place.clone()))
        .left("Finding", |(_, part)| Cell::finding(part.finding.as_deref()));
    table.table().captioned(caption).remarked(remark)
}

/// The parts of a bar: of a GPU busy time, what held it back then, and idle time.
fn rows_of(bar: &Bar) -> impl Iterator<Item = &BarPart> {
    let (first, rest) = bar.parts.split_at(bar.parts.len().min(1));
    first.iter().chain(&bar.held).chain(rest)
}

/// The slow steps, the longest first, each with what it had most more of.
fn slow_steps(steps: &Steps, rows: &Rows) -> Table {
    let start = |step: &SlowStep| {
        let (start, end) = (step.start_ns, step.start_ns.saturating_add(step.duration_ns));
        let cell = Cell::number(format!("{:.6} s", start as f64 / 1e9), start as f64);
        cell.to(rows.time(start, end).map(Target::Time))
    };
    let (shown, remark) = first_rows(&steps.slow, ALL);
    let table = Table::of(shown)
        .right("Start", start)
        .right("Duration", |step| time(step.duration_ns))
        .left("Step", |step| step.name.clone())
        .right("More", |step| time(step.duration_ns - steps.median_ns))
        .left("Most of it", |step| most(step).0)
        .left("Where", |step| most(step).1)
        .left("Finding", |step| Cell::finding(most(step).2));
    let caption = format!("Slow steps: the median is {}", units::duration(steps.median_ns));
    table.table().captioned(caption).remarked(remark)
}

/// Largest part of the extra time of a slow step, where it was, and its finding.
fn most(step: &SlowStep) -> (String, String, Option<&str>) {
    let with = |ns: Ns, name: &str| format!("{} {name}", units::duration(ns));
    match step.more.first().filter(|part| part.ns > step.busy_more_ns) {
        Some(part) => (with(part.ns, part.cause.id()), place(part), part.finding.as_deref()),
        None => (with(step.busy_more_ns, "of work of the GPU"), String::new(), None),
    }
}
