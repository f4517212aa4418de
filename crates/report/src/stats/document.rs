//! The summary tables as a document, and their titles.

use super::tables::{copies, events, further};
use super::top::Top;
use super::{Copies, Device, Host, Row, Stats};
use crate::document::{Block, Document, Form, Paragraph, Width};
use crate::escape::visible;
use crate::header::{self, Extent};
use crate::{overlap, units};
use trace::Ns;

/// The summary tables, each with `top` rows; in text names are shortened to fit the page unless `wide`.
pub fn document(stats: &Stats, form: Form, wide: bool, top: Top) -> Document {
    let columns = match form {
        Form::Text(page) if !wide => Some(page.table_columns),
        Form::Text(_) | Form::Markdown => None,
    };
    let width = if wide { Width::Any } else { Width::Terminal };
    let by_name = |document: &mut Document, rows: &[Row]| {
        let (shown, others) = top.split(rows, |row| row.total_ns);
        document.push(events(shown, columns).with_names().wide(width));
        document.extend(rest(others));
    };
    let mut document = Document::new(form);
    if document.is_markdown() {
        document.push(Paragraph::heading(1, &stats.trace.path));
    }
    document.extend(header::document(&stats.trace, form, Extent::All));
    for host in &stats.host {
        document.gap();
        document.push(Paragraph::heading(2, host_title(host, stats)));
        by_name(&mut document, &host.rows);
    }
    for (at, device) in stats.devices.iter().enumerate() {
        document.extend((at == 0).then_some(Block::Gap));
        document.push(Paragraph::heading(2, device_title(device, stats)));
    }
    if !stats.ops.is_empty() {
        document.extend(overlapping(stats).map(Paragraph::new));
        by_name(&mut document, &stats.ops);
    }
    if !stats.copies.is_empty() {
        document.gap();
        document.push(Paragraph::heading(2, copies_title(&stats.copies)));
        document.push(copies(&stats.copies).wide(width));
    }
    for (at, told) in stats.overlap.iter().filter(|told| told.possible_ns > 0).enumerate() {
        document.extend((at == 0).then_some(Block::Gap));
        document.extend(overlap::document(told, form, true));
    }
    for titled in further(stats, top) {
        document.gap();
        document.push(Paragraph::heading(2, titled.title));
        document.push(titled.table.wide(width));
        document.extend(titled.more.map(Paragraph::new));
    }
    if stats.host.is_empty() && stats.devices.is_empty() && !document.is_markdown() {
        document.gap();
        document.push(Paragraph::new("no calls and no GPU operations chosen"));
    }
    document
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
fn overlapping(stats: &Stats) -> Option<String> {
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

/// `and 33 more, 0.02 %`
fn rest(others: &[Row]) -> Option<Paragraph> {
    let share: f64 = others.iter().map(|row| row.share).sum();
    let (count, share) = (units::count(others.len() as u64), units::percent_two_decimals(share));
    (!others.is_empty()).then(|| Paragraph::new(format!("and {count} more, {share}")))
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
