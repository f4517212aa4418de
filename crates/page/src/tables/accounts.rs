//! The accounts as tables: of GPUs and threads, of what operations waited for, and of slow steps.

use crate::table::{Cell, Kind, MOST_ROWS, Table};
use crate::timeline::Rows;
use explain::{Cause, Explanation, SlowStep, Steps};
use report::bars::{Bar, BarPart, bars, place, streams};
use report::units;
use trace::Ns;

/// The columns of an account, and the one that it lacks if no place is known.
const COLUMNS: [(&str, Kind); 6] = [
    ("Of", Kind::Text),
    ("Share", Kind::Number),
    ("Time", Kind::Number),
    ("Cause", Kind::Text),
    ("Where", Kind::Text),
    ("Finding", Kind::Text),
];
const PLACE: usize = 4;

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
    let mut columns = COLUMNS.to_vec();
    let has_places = parts.iter().any(|(_, part)| !part.place.is_empty());
    if !has_places {
        columns.remove(PLACE);
    }
    let mut table = Table::new(caption, &columns);
    for (bar, part) in parts.iter().take(MOST_ROWS) {
        let of = if part.is_held { format!("{}, held back", bar.of) } else { bar.of.clone() };
        let mut row = vec![
            Cell::text(&of),
            Cell::number(part.percent.clone(), part.share),
            Cell::number(part.time.clone(), part.ns as f64),
            Cell::text(part.name),
        ];
        row.extend(has_places.then(|| Cell::text(&part.place)));
        row.push(Cell::finding(part.finding.as_deref()));
        table.push(row);
    }
    more(&mut table, parts.len());
    table
}

/// The parts of a bar: of a GPU busy time, what held it back then, and idle time.
fn rows_of(bar: &Bar) -> impl Iterator<Item = &BarPart> {
    let (first, rest) = bar.parts.split_at(bar.parts.len().min(1));
    first.iter().chain(&bar.held).chain(rest)
}

fn more(table: &mut Table, rows: usize) {
    if let Some(more) = rows.checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        let more = units::counted(more as u64, "more row", "more rows");
        table.remark(format!("{more}: holdup explain --format json has all."));
    }
}

/// The slow steps, the longest first, each with what it had most more of.
fn slow_steps(steps: &Steps, rows: &Rows) -> Table {
    let caption = format!("Slow steps: the median is {}", units::duration(steps.median_ns));
    let columns = [
        ("Start", Kind::Number),
        ("Duration", Kind::Number),
        ("Step", Kind::Text),
        ("More", Kind::Number),
        ("Most of it", Kind::Text),
        ("Where", Kind::Text),
        ("Finding", Kind::Text),
    ];
    let mut table = Table::new(&caption, &columns);
    for step in steps.slow.iter().take(MOST_ROWS) {
        let (start, duration) = (step.start_ns, step.duration_ns);
        let longer = duration - steps.median_ns;
        let [most, place, finding] = most(step);
        table.push(vec![
            Cell::number(format!("{:.6} s", start as f64 / 1e9), start as f64)
                .at_time(rows.time(start, start.saturating_add(duration))),
            Cell::number(units::duration(duration), duration as f64),
            Cell::text(&step.name),
            Cell::number(units::duration(longer), longer as f64),
            Cell::text(&most),
            Cell::text(&place),
            Cell::finding(Some(&*finding).filter(|finding| !finding.is_empty())),
        ]);
    }
    more(&mut table, steps.slow.len());
    table
}

/// Largest part of the extra time of a slow step, where it was, and its finding.
fn most(step: &SlowStep) -> [String; 3] {
    let with = |ns: Ns, name: &str| format!("{} {name}", units::duration(ns));
    match step.more.first().filter(|part| part.ns > step.busy_more_ns) {
        Some(part) => [with(part.ns, part.cause.id()), place(part), part.finding.clone().unwrap_or_default()],
        None => [with(step.busy_more_ns, "of work of the GPU"), String::new(), String::new()],
    }
}
