//! The summary tables, a column in each line.

use super::accounts;
use super::top::{Titled, Top};
use super::{Copies, FirstCall, RangeRow, Row, Short, Stats};
use crate::document::Table;
use crate::layout::width;
use crate::{failed, units};

/// Events by name. On a page of few `columns` a row's numbers share a unit, then the share goes: a name cut to
/// pieces says nothing.
pub(super) fn events(rows: &[Row], columns: Option<usize>) -> Table {
    const READABLE: usize = 30;
    let readable = |table: &Table| columns.is_none_or(|columns| table.last_fits(columns, READABLE));
    let tables = [(Detail::Units, true), (Detail::OneUnit, true)];
    let tables = tables.into_iter().map(|(detail, share)| detailed(rows, detail, share));
    tables.into_iter().find(readable).unwrap_or_else(|| detailed(rows, Detail::OneUnit, false))
}

/// How the numbers of a distribution are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// `311 µs ± 3.76 ms (3.04 µs ‥ 53.8 ms)`
    Units,
    /// `311 µs ± 3,760 (3.04 ‥ 53,812)`
    OneUnit,
}

fn detailed(rows: &[Row], detail: Detail, share: bool) -> Table {
    let rows: Vec<(&Row, String)> = rows.iter().zip(distributions(rows, detail)).collect();
    Table::of(&rows)
        .when(share, |columns| columns.right("Time (%)", |(row, _)| units::percent_two_decimals(row.share)))
        .right(if share { "Total time" } else { "Total" }, |(row, _)| {
            units::two_decimals(row.total_ns as f64)
        })
        .right("Calls", |(row, _)| units::count(row.count))
        .left("Time distribution", |(_, distribution)| distribution.clone())
        .left("Name", |(row, _)| row.name.clone())
        .table()
        .without_empty_columns()
}

/// The distribution of every row, each of its numbers in a column; nothing for a single event, whose total
/// says it all.
fn distributions(rows: &[Row], detail: Detail) -> Vec<String> {
    let numbers = |row: &Row| {
        let ns = [row.mean_ns, row.deviation_ns, row.min_ns as f64, row.max_ns as f64];
        let mut texts = match detail {
            Detail::Units => ns.map(|ns| units::duration(ns.round() as i64)),
            Detail::OneUnit => {
                let (mut texts, unit) = units::durations_alike(ns);
                texts[0].push_str(&format!(" {unit}"));
                texts
            }
        };
        texts[1].insert_str(0, "± ");
        (row.count > 1).then_some(texts)
    };
    let numbers: Vec<_> = rows.iter().map(numbers).collect();
    let widest = |at: usize| numbers.iter().flatten().map(|four| width(&four[at])).max().unwrap_or(0);
    let [mean, deviation, min, max] = [0, 1, 2, 3].map(widest);
    let cell = |four: &Option<[String; 4]>| match four {
        None => String::new(),
        Some([a, b, c, d]) => format!("{a:>mean$} {b:<deviation$} ({c:>min$} ‥ {d:>max$})"),
    };
    numbers.iter().map(cell).collect()
}

pub(super) fn copies(copies: &[Copies]) -> Table {
    // As bytes in a millisecond, a rate keeps three digits down to kB/s.
    let speed = |gb_per_s: f64| units::throughput((gb_per_s * 1e6) as i64, 1_000_000);
    let direction = |group: &Copies| match (group.source, group.destination) {
        ("unknown", "unknown") => group.direction.to_owned(),
        (source, destination) => format!("{} {source} → {destination}", group.direction),
    };
    Table::of(copies)
        .right("Total time", |group| units::two_decimals(group.total_ns as f64))
        .right("Count", |group| units::count(group.count))
        .right("Size", |group| units::bytes(group.bytes))
        .right("Speed", |group| speed(group.mean_gb_per_s))
        .right("Best", |group| speed(group.max_gb_per_s))
        .left("Direction", direction)
        .table()
        .without_empty_columns()
}

/// The tables below those of calls, operations and copies, as far as they have rows.
pub(super) fn further(stats: &Stats, top: Top) -> impl Iterator<Item = Titled> {
    let failed = top.split(&stats.failed_calls, |row| row.count as i64);
    let tables = [
        accounts::parts(&stats.accounts, top),
        accounts::waits(&stats.accounts, top),
        Titled::of("Calls that failed", failed, failed::table),
        first_calls(&stats.first_calls, top),
        ranges(&stats.ranges, top),
        short(&stats.short, top),
    ];
    tables.into_iter().flatten()
}

/// First calls beside later ones; empty if none is much slower.
fn first_calls(rows: &[FirstCall], top: Top) -> Option<Titled> {
    let table = |rows: &[FirstCall]| {
        let several = rows.iter().any(|row| row.pid != rows[0].pid);
        Table::of(rows)
            .right("First", |row| units::duration(row.first_ns))
            .right("Median later", |row| units::duration(row.median_ns))
            .right("Later", |row| units::count(row.later))
            .when(several, |columns| columns.right("Process", |row| row.pid.to_string()))
            .left("Name", |row| row.name.clone())
            .table()
    };
    Titled::of("First calls that took longer than later ones", top.split(rows, |row| row.first_ns), table)
}

/// The program's ranges; nothing where it marked none.
fn ranges(rows: &[RangeRow], top: Top) -> Option<Titled> {
    let table = |rows: &[RangeRow]| {
        Table::of(rows)
            .right("Total time", |row| units::two_decimals(row.total_ns as f64))
            .right("Count", |row| units::count(row.count))
            .right("Mean", |row| units::duration(row.mean_ns.round() as i64))
            .right("Calls", |row| units::count(row.calls))
            .right("GPU time", |row| units::duration(row.gpu_ns))
            .left("Name", |row| row.name.clone())
            .table()
    };
    let title = "Ranges that the program marked, the calls within, and the GPU time that these asked for";
    Titled::of(title, top.split(rows, |row| row.total_ns), table)
}

/// Calls and waits that are counted; nothing where none is.
fn short(rows: &[Short], top: Top) -> Option<Titled> {
    let mean = |row: &Short| row.total_ns as f64 / row.count.max(1) as f64;
    let table = |rows: &[Short]| {
        Table::of(rows)
            .right("Total time", |row| units::two_decimals(row.total_ns as f64))
            .right("Count", |row| units::count(row.count))
            .right("Mean", |row| units::duration(mean(row).round() as i64))
            .right("Threads", |row| units::count(row.threads))
            .left("What", |row| row.kind)
            .left("Name", |row| row.name.clone())
            .table()
    };
    let title = "Short calls and waits, which are counted and not listed";
    Titled::of(title, top.split(rows, |row| row.total_ns), table)
}
