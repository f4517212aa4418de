//! Summary tables for a terminal.

use super::top::{Further, Top, Weight, more};
use super::{Copies, Device, First, Host, RangeRow, Row, Short, Stats, accounts};
use crate::escape::visible;
use crate::layout::{hang, width};
use crate::page::Page;
use crate::table::{Align, Table};
use crate::{failed, header, overlap, units};
use explain::FailedCalls;
use trace::Ns;

/// The summary tables; names are shortened to fit the page unless `wide`, and each table has `top` rows.
pub fn text(stats: &Stats, page: Page, wide: bool, top: Top) -> String {
    let columns = (!wide).then_some(page.table_columns);
    let table = |rows: &[Row]| {
        let (shown, others) = top.split(rows);
        format!("{}{}", table(shown, columns).boxed_names(columns), rest(others))
    };
    let mut text = header::text(&stats.trace, page.columns);
    for host in &stats.host {
        text.push_str(&format!("\n{}", hang(&host_title(host, stats), page.columns)));
        text.push_str(&table(&host.rows));
    }
    for (at, device) in stats.devices.iter().enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        text.push_str(&format!("{gap}{}", hang(&device_title(device, stats), page.columns)));
    }
    if !stats.ops.is_empty() {
        text.push_str(&overlapping(stats).map(|line| hang(&line, page.columns)).unwrap_or_default());
        text.push_str(&table(&stats.ops));
    }
    if !stats.copies.is_empty() {
        text.push_str(&format!("\n{}\n", copies_title(&stats.copies)));
        text.push_str(&copies(&stats.copies).boxed(columns));
    }
    for (at, told) in stats.overlap.iter().filter(|told| told.possible_ns > 0).enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        text.push_str(&format!("{gap}{}", overlap::text(told, page, true).trim_end()));
        text.push('\n');
    }
    for (title, table, others) in further(stats, top) {
        text.push_str(&format!("\n{}{}{others}", hang(title, page.columns), table.boxed_names(columns)));
    }
    if stats.host.is_empty() && stats.devices.is_empty() {
        text.push_str("\nno calls and no GPU operations chosen\n");
    }
    text
}

/// `Host-side activity: calling CUDA APIs took 397.28 ms (79.03 % of the trace)`
pub fn host_title(host: &Host, stats: &Stats) -> String {
    let what = match host.calls {
        "cuda" => "calling CUDA APIs",
        "os" => "calling the operating system",
        _ => "calling libraries",
    };
    let total = units::two_decimals(host.total_ns as f64);
    let share = units::percent_two_decimals(host.share);
    let whole = whole(stats);
    match &host.thread {
        Some(thread) => format!("Thread {thread}: {what} took {total} ({share} of {whole})"),
        None if host.threads == 1 => format!("Host-side activity: {what} took {total} ({share} of {whole})"),
        None => {
            let threads = units::count(host.threads);
            format!("Host-side activity: {what} took {total} in {threads} threads ({share} of their time)")
        }
    }
}

/// `Device-side activity: GPU was busy for 17.40 µs (1.76 % of the trace)`
pub fn device_title(device: &Device, stats: &Stats) -> String {
    let several = stats.devices.len() > 1;
    let number = device.ordinal.filter(|_| several).map(|ordinal| format!(" {ordinal}"));
    let name = if device.name.is_empty() { String::new() } else { format!(" ({})", visible(&device.name)) };
    let busy = units::two_decimals(device.busy_ns as f64);
    let share = units::percent_two_decimals(device.share);
    let gpu = format!("GPU{}{name}", number.unwrap_or_default());
    // The account counts it as idle.
    let waited = stats.accounts.gpus.iter().find(|gpu| Some(gpu.device) == device.ordinal);
    let waited =
        waited.and_then(|gpu| gpu.collective_wait_ns).filter(|ns| *ns > 0).map_or(String::new(), |ns| {
            format!(", for {} of that it waited for other ranks", units::two_decimals(ns as f64))
        });
    format!("Device-side activity: {gpu} was busy for {busy} ({share} of {}){waited}", whole(stats))
}

/// Says that rows count time twice where operations ran at once: `Rows overlap: they add up to 188.32 % …`
pub(super) fn overlapping(stats: &Stats) -> Option<String> {
    let total: Ns = stats.ops.iter().map(|row| row.total_ns).sum();
    let busy: Ns = stats.devices.iter().map(|device| device.busy_ns).sum();
    // Two decimals of a percent are shown.
    if total - busy <= busy / 10_000 {
        return None;
    }
    let share: f64 = stats.ops.iter().map(|row| row.share).sum();
    let whole = if stats.devices.len() > 1 { String::from("the GPUs' time") } else { whole(stats) };
    let share = units::percent_two_decimals(share);
    Some(format!("Rows overlap: they add up to {share} of {whole}, because operations ran at the same time"))
}

impl Weight for Row {
    fn weight(&self) -> Ns {
        self.total_ns
    }
}

impl Weight for RangeRow {
    fn weight(&self) -> Ns {
        self.total_ns
    }
}

impl Weight for FailedCalls {
    fn weight(&self) -> Ns {
        self.count as Ns
    }
}

impl Weight for Short {
    fn weight(&self) -> Ns {
        self.total_ns
    }
}

impl Weight for First {
    fn weight(&self) -> Ns {
        self.first_ns
    }
}

/// `and 33 more, 0.02 %`
pub(super) fn rest(others: &[Row]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let share: f64 = others.iter().map(|row| row.share).sum();
    format!("and {} more, {}\n", units::count(others.len() as u64), units::percent_two_decimals(share))
}

/// `Copies: 130 MiB in 25 copies`
pub fn copies_title(copies: &[Copies]) -> String {
    let bytes = copies.iter().fold(0i64, |sum, group| sum.saturating_add(group.bytes));
    let count = copies.iter().map(|group| group.count).sum();
    format!("Copies: {} in {}", units::bytes(bytes), units::counted(count, "copy", "copies"))
}

/// Time that the shares are parts of.
fn whole(stats: &Stats) -> String {
    if stats.window_ns == stats.trace.duration_ns {
        return String::from("the trace");
    }
    format!("the chosen {}", units::duration(stats.window_ns))
}

/// Events by name. On a page of few `columns` a row's numbers share a unit, then the share goes: a name cut to
/// pieces says nothing.
pub(super) fn table(rows: &[Row], columns: Option<usize>) -> Table {
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
    let mut columns = vec![("Time (%)", Align::Right), ("Total time", Align::Right), ("Calls", Align::Right)];
    columns.extend([("Time distribution", Align::Left), ("Name", Align::Left)]);
    if !share {
        columns.splice(..2, [("Total", Align::Right)]);
    }
    let mut table = Table::new(&columns);
    for (row, distribution) in rows.iter().zip(distributions(rows, detail)) {
        let mut cells = vec![
            units::two_decimals(row.total_ns as f64),
            units::count(row.count),
            distribution,
            visible(&row.name).into_owned(),
        ];
        if share {
            cells.insert(0, units::percent_two_decimals(row.share));
        }
        table.push(cells);
    }
    table.drop_empty_columns();
    table
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
    let mut table = Table::new(&[
        ("Total time", Align::Right),
        ("Count", Align::Right),
        ("Size", Align::Right),
        ("Speed", Align::Right),
        ("Best", Align::Right),
        ("Direction", Align::Left),
    ]);
    // As bytes in a millisecond, a rate keeps three digits down to kB/s.
    let speed = |gb_per_s: f64| units::throughput((gb_per_s * 1e6) as i64, 1_000_000);
    for group in copies {
        table.push(vec![
            units::two_decimals(group.total_ns as f64),
            units::count(group.count),
            units::bytes(group.bytes),
            speed(group.mean_gb_per_s),
            speed(group.max_gb_per_s),
            match (group.source, group.destination) {
                ("unknown", "unknown") => group.direction.to_owned(),
                (source, destination) => format!("{} {source} → {destination}", group.direction),
            },
        ]);
    }
    table.drop_empty_columns();
    table
}

/// The tables below those of calls, operations and copies, as far as they have rows.
pub(super) fn further(stats: &Stats, top: Top) -> impl Iterator<Item = Further> {
    let tables = [
        accounts::table(&stats.accounts, top),
        accounts::waits(&stats.accounts, top),
        failed_calls(&stats.failed_calls, top),
        first_calls(&stats.first_calls, top),
        ranges(&stats.ranges, top),
        short(&stats.short, top),
    ];
    tables.into_iter().flatten()
}

/// Calls that failed.
fn failed_calls(rows: &[FailedCalls], top: Top) -> Option<Further> {
    let (rows, others) = top.split(rows);
    (!rows.is_empty()).then(|| ("Calls that failed", failed::table(rows), more(others)))
}

/// First calls beside later ones; empty if none is much slower.
fn first_calls(rows: &[First], top: Top) -> Option<Further> {
    let (rows, others) = top.split(rows);
    let mut table = Table::new(&[
        ("First", Align::Right),
        ("Median later", Align::Right),
        ("Later", Align::Right),
        ("Process", Align::Right),
        ("Name", Align::Left),
    ]);
    let several = rows.iter().any(|row| row.pid != rows[0].pid);
    for row in rows {
        table.push(vec![
            units::duration(row.first_ns),
            units::duration(row.median_ns),
            units::count(row.later),
            if several { row.pid.to_string() } else { String::new() },
            visible(&row.name).into_owned(),
        ]);
    }
    table.drop_empty_columns();
    (!rows.is_empty()).then(|| ("First calls that took longer than later ones", table, more(others)))
}

/// The program's ranges; nothing where it marked none.
fn ranges(rows: &[RangeRow], top: Top) -> Option<Further> {
    let (rows, others) = top.split(rows);
    let mut table = Table::new(&[
        ("Total time", Align::Right),
        ("Count", Align::Right),
        ("Mean", Align::Right),
        ("Calls", Align::Right),
        ("GPU time", Align::Right),
        ("Name", Align::Left),
    ]);
    for row in rows {
        table.push(vec![
            units::two_decimals(row.total_ns as f64),
            units::count(row.count),
            units::duration(row.mean_ns.round() as i64),
            units::count(row.calls),
            units::duration(row.gpu_ns),
            visible(&row.name).into_owned(),
        ]);
    }
    table.drop_empty_columns();
    let title = "Ranges that the program marked, the calls within, and the GPU time that these asked for";
    (!rows.is_empty()).then(|| (title, table, more(others)))
}

/// Calls and waits that are counted; nothing where none is.
fn short(rows: &[Short], top: Top) -> Option<Further> {
    let (rows, others) = top.split(rows);
    let mut table = Table::new(&[
        ("Total time", Align::Right),
        ("Count", Align::Right),
        ("Mean", Align::Right),
        ("Threads", Align::Right),
        ("What", Align::Left),
        ("Name", Align::Left),
    ]);
    for row in rows {
        let mean = row.total_ns as f64 / row.count.max(1) as f64;
        table.push(vec![
            units::two_decimals(row.total_ns as f64),
            units::count(row.count),
            units::duration(mean.round() as i64),
            units::count(row.threads),
            row.kind.to_owned(),
            visible(&row.name).into_owned(),
        ]);
    }
    (!rows.is_empty())
        .then(|| ("Short calls and waits, which are counted and not listed", table, more(others)))
}
