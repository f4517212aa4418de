//! The longest calls, and the time they lost: the timeline in words.

use super::time::time;
use crate::timeline::Rows;
use explain::Loss;
use report::document::{Cell, Table, Target};
use report::units;
use rustc_hash::FxHashMap;
use trace::{CallId, Ns, Selection, ThreadId, Trace};

/// Most calls that are listed.
const MOST: usize = 250;

pub(super) fn table(trace: &Trace, losses: &[Loss], selection: &Selection, rows: &Rows) -> Table {
    let calls = longest(trace, selection);
    let losses = by_call(losses, &calls);
    let title = units::counted(calls.len() as u64, "longest call", "longest calls");
    let title = format!("The {title}, and what they waited for");
    let of = |call: &CallId| losses.get(call).map_or(&[][..], Vec::as_slice);
    let lost = |call: &CallId| of(call).iter().fold(0, |sum: Ns, loss| sum.saturating_add(loss.lost_ns));
    let row = |call: &CallId| trace.calls.row(*call);
    let start = |call: &CallId| {
        let row = row(call);
        let cell = Cell::number(format!("{:.6} s", row.start as f64 / 1e9), row.start as f64);
        cell.to(rows.target(row.thread, row.start, row.end).map(Target::Box))
    };
    let table = Table::of(&calls)
        .right("Start", start)
        .right("Duration", |call| time(row(call).end.saturating_sub(row(call).start)))
        .left("Thread", |call| rows.thread(row(call).thread))
        .left("Call", |call| trace.text(row(call).name).to_owned())
        .right("Lost", |call| match lost(call) {
            0 => Cell::number("", 0.0),
            ns => time(ns),
        })
        .left("Because of", |call| because(trace, of(call), rows));
    table.table().captioned(title)
}

/// The longest calls that lie in no other call, longest first.
fn longest(trace: &Trace, selection: &Selection) -> Vec<CallId> {
    let calls = &trace.calls;
    let selected = selection.of(trace);
    let (start, end) = (|call: CallId| calls.start[call.index()], |call: CallId| calls.end[call.index()]);
    let chosen = |call: &CallId| {
        let at = call.index();
        selected.time(start(*call), end(*call))
            && selected.caller(calls.thread[at], calls.start[at])
            && selected.name(calls.name[at])
    };
    let mut all: Vec<CallId> = calls.ids().filter(chosen).collect();
    let order = |call: &CallId| (std::cmp::Reverse(end(*call).saturating_sub(start(*call))), *call);
    // Calls within calls are removed later: the call around each is longer, so it is among these too.
    let enough = (MOST * 8).min(all.len());
    if enough < all.len() {
        all.select_nth_unstable_by_key(enough, order);
        all.truncate(enough);
    }
    all.sort_unstable_by_key(order);
    let mut outer: Vec<CallId> = Vec::new();
    for call in all {
        let around = |other: &CallId| {
            calls.thread[other.index()] == calls.thread[call.index()]
                && start(*other) <= start(call)
                && end(call) <= end(*other)
        };
        if outer.len() < MOST && !outer.iter().any(around) {
            outer.push(call);
        }
    }
    outer
}

/// The losses of each of some calls, the largest first.
fn by_call<'a>(losses: &'a [Loss], calls: &[CallId]) -> FxHashMap<CallId, Vec<&'a Loss>> {
    let mut by_call: FxHashMap<CallId, Vec<&Loss>> = calls.iter().map(|call| (*call, Vec::new())).collect();
    for loss in losses.iter().filter(|loss| loss.lost_ns > 0) {
        if let Some(of) = by_call.get_mut(&loss.call) {
            of.push(loss);
        }
    }
    for losses in by_call.values_mut() {
        losses.sort_by_key(|loss| (std::cmp::Reverse(loss.lost_ns), loss.start));
    }
    by_call
}

/// `driver-lock: thread 7 in cudaMemcpyAsync (H1)`, for the largest cause.
fn because(trace: &Trace, losses: &[&Loss], rows: &Rows) -> String {
    let Some(loss) = losses.first() else { return String::new() };
    let mut text = loss.cause.id().to_owned();
    if loss.holder != ThreadId::NONE {
        text.push_str(&format!(": {}", rows.thread(loss.holder)));
    }
    if let Some(call) = loss.holder_call.some() {
        text.push_str(&format!(" in {}", trace.text(trace.calls.name[call.index()])));
    }
    if let Some(finding) = loss.finding {
        text.push_str(&format!(" (H{})", finding + 1));
    }
    text
}
