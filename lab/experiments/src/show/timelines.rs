//! The timelines of the variants: the traces of a session as one plot.

use super::charts;
use crate::experiment::label;
use crate::results::Results;
use report::plot::{Chart, Lane, Lanes, Panel, Plot, Span, SpanStyle};
use report::units;
use std::collections::BTreeMap;
use trace::{Ns, Op, OpKind, Trace};

/// The most variants in one plot, our choice: with more, the table is easier to read.
const MOST: usize = 24;

/// The plot, and remarks on it; nothing if the experiment has no timelines.
pub(crate) fn timelines(results: &Results) -> (Option<Plot>, Vec<String>) {
    let Some(repeats) = results.experiment.timelines else { return Default::default() };
    let repeats = repeats(&results.settings);
    let drawn = results.traces.iter().filter(|(_, trace)| !trace.ops.is_empty()).take(MOST);
    let panels: Vec<Panel> = drawn.map(|(label, trace)| panel(results, label, trace, repeats)).collect();
    if panels.is_empty() && results.bench.simulated {
        return Default::default();
    }
    if panels.is_empty() {
        let line = "Not drawn: the traces have the host's calls only.";
        return (None, vec![line.to_owned()]);
    }
    let mut lines = Vec::new();
    if repeats > 1 {
        lines.push(format!("The last of {}, on one time scale.", units::counted(repeats, "pass", "passes")));
    }
    if let Some(more) = results.traces.len().checked_sub(panels.len()).filter(|more| *more > 0) {
        lines.push(format!(
            "{} not drawn.",
            units::counted(more as u64, "more variant is", "more variants are")
        ));
    }
    let title = format!("{}: timelines", results.experiment.name);
    let plot = Plot { title, subtitle: results.place(), chart: Chart::Lanes(Lanes { panels }) };
    (Some(plot), lines)
}

fn panel(results: &Results, label: &str, trace: &Trace, repeats: u64) -> Panel {
    let mut ops: Vec<Op> = trace.ops.ids().map(|op| trace.ops.row(op)).collect();
    ops.sort_by_key(|op| (op.start, op.end));
    let each = (ops.len() as u64 / repeats.max(1)).max(1) as usize;
    let ops = &ops[ops.len() - each.min(ops.len())..];
    let asked = |op: &Op| op.call.some().map_or(op.start, |call| trace.calls.start[call.index()]);
    let start = ops.iter().map(|op| asked(op).min(op.start)).min().unwrap_or(0);
    let end = ops.iter().map(|op| op.end).max().unwrap_or(0);
    let mut lanes = hosts(trace, start, end);
    lanes.extend(streams(trace, ops, start));
    Panel { name: name(results, label), note: units::duration(end - start), lanes }
}

/// The label of a variant.
fn name(results: &Results, variant: &str) -> String {
    let columns = variant.split(',').count();
    let row = results.rows.iter().find(|row| label(row.varied.get(..columns).unwrap_or_default()) == variant);
    row.map_or_else(
        || variant.to_owned(),
        |row| {
            let mut row = row.clone();
            row.varied.truncate(columns);
            charts::name(results, &row, &[])
        },
    )
}

/// One lane per thread, with its calls that are not inside another call.
fn hosts(trace: &Trace, start: Ns, end: Ns) -> Vec<Lane> {
    let mut calls: Vec<_> = trace.calls.ids().map(|call| trace.calls.row(call)).collect();
    calls.retain(|call| call.end > start && call.start < end);
    calls.sort_by_key(|call| (call.thread, call.start, -call.end));
    let mut lanes: BTreeMap<_, Vec<Span>> = BTreeMap::new();
    for call in calls {
        let spans = lanes.entry(call.thread).or_default();
        let span = Span {
            start_ns: call.start.max(start) - start,
            end_ns: call.end - start,
            look: SpanStyle::Host,
            label: trace.text(call.name).to_owned(),
            text: trace.text(call.name).to_owned(),
        };
        if spans.last().is_none_or(|last| last.end_ns <= span.start_ns) {
            spans.push(span);
        }
    }
    let name = |thread: trace::ThreadId| match thread.some().map(|thread| trace.threads.row(thread)) {
        Some(thread) if !trace.text(thread.name).is_empty() => trace.text(thread.name).to_owned(),
        _ => String::from("host"),
    };
    lanes.into_iter().map(|(thread, spans)| Lane { name: name(thread), spans }).collect()
}

/// One lane per stream, in the order of their numbers.
fn streams(trace: &Trace, ops: &[Op], start: Ns) -> Vec<Lane> {
    let mut lanes: BTreeMap<_, Vec<Span>> = BTreeMap::new();
    for op in ops {
        lanes.entry(op.stream).or_default().push(span(trace, op, start));
    }
    let one = lanes.len() == 1;
    let name = |at: usize| if one { String::from("stream") } else { format!("stream {}", at + 1) };
    lanes.into_values().enumerate().map(|(at, spans)| Lane { name: name(at), spans }).collect()
}

fn span(trace: &Trace, op: &Op, start: Ns) -> Span {
    let (look, label) = match op.kind {
        OpKind::Kernel | OpKind::Graph => (SpanStyle::Kernel, trace.text(op.name)),
        OpKind::Copy if op.copy.to_device() => (SpanStyle::In, "in"),
        OpKind::Copy if op.copy.to_host() => (SpanStyle::Out, "out"),
        OpKind::Copy => (SpanStyle::Other, "copy"),
        OpKind::Memset => (SpanStyle::Other, "fill"),
        OpKind::Unknown => (SpanStyle::Other, ""),
    };
    let text = match look {
        SpanStyle::In | SpanStyle::Out => format!("copy {label}, {}", units::bytes(op.bytes)),
        SpanStyle::Host | SpanStyle::Kernel | SpanStyle::Other => label.to_owned(),
    };
    Span { start_ns: op.start - start, end_ns: op.end - start, look, label: label.to_owned(), text }
}
