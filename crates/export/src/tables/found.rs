//! Findings and losses as tables.

use super::column::Table;
use crate::Export;
use crate::view::place_text;
use explain::{Finding, Loss, Party, Place};
use report::explanation::{detail, sentence};
use trace::{CallId, ThreadId};

/// How a table refers to calls and waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Refer {
    /// By row number, for joins.
    ByRow,
    /// By name only.
    ByName,
}

/// One row per finding, in their order.
pub(super) fn findings<'a>(export: &Export<'a>) -> Table<'a> {
    let all = &export.explanation.findings;
    let table = Table::new("findings", all.len())
        .text("id", |row| &all[row].id)
        .text("cause", |row| all[row].cause.id())
        .int("lost_ns", |row| Some(all[row].lost_ns))
        .real("share", |row| Some(all[row].share))
        .int("count", |row| Some(all[row].count as i64))
        .int("max_ns", |row| Some(all[row].max_ns))
        .text("evidence", |row| all[row].evidence.id())
        .text("confidence", |row| all[row].confidence.id())
        .int("waiter_pid", |row| Some(all[row].waiter.pid))
        .int("waiter_tid", |row| Some(all[row].waiter.tid))
        .text("waiter_thread", |row| &all[row].waiter.thread)
        .int("waiter_threads", |row| Some(all[row].waiter.threads as i64))
        .text("waiter_call", |row| &all[row].waiter.call)
        .made("waiter_detail", |row| detail(&all[row].waiter))
        .made("waiter_place", |row| first_place(&all[row].places));
    holder(table, all)
        .made("because", |row| sentence(&all[row].because))
        .text("why", |row| all[row].why)
        .made("fixes", |row| all[row].fixes.iter().map(|fix| fix.id).collect::<Vec<_>>().join(" "))
}

fn holder<'a>(table: Table<'a>, all: &'a [Finding]) -> Table<'a> {
    let holder = |row: usize| all[row].holder.as_ref();
    let text = |get: fn(&Party) -> &str| move |row| holder(row).map_or("", get);
    table
        .int("holder_pid", move |row| holder(row).map(|party| party.pid))
        .int("holder_tid", move |row| holder(row).map(|party| party.tid))
        .text("holder_thread", text(|party| &party.thread))
        .int("holder_threads", move |row| holder(row).map(|party| party.threads as i64))
        .text("holder_call", text(|party| &party.call))
        .made("holder_detail", move |row| holder(row).map_or_else(String::new, detail))
        .made("holder_place", move |row| {
            holder(row).map_or_else(String::new, |party| first_place(&party.places))
        })
}

fn first_place(places: &[Place]) -> String {
    places.first().map(place_text).unwrap_or_default()
}

/// One row per loss, in their order: the thread that lost time, when, in which call, the cause, and the holder's call.
pub(super) fn losses<'a>(export: &Export<'a>, refer: Refer) -> Table<'a> {
    let Export { trace, explanation, losses } = *export;
    let pid = |thread: ThreadId| {
        let process = trace.process_of_thread(thread).some();
        process.map(|process| trace.processes.pid[process.index()])
    };
    let tid = |thread: ThreadId| thread.some().map(|thread| trace.threads.tid[thread.index()]);
    let thread =
        |thread: ThreadId| thread.some().map_or("", |thread| trace.text(trace.threads.name[thread.index()]));
    let call = |call: CallId| call.some().map_or("", |call| trace.text(trace.calls.name[call.index()]));
    let finding =
        |loss: &Loss| loss.finding.map_or("", |finding| explanation.findings[finding as usize].id.as_str());
    let table = Table::new("losses", losses.len())
        .int("start_ns", |row| Some(losses[row].start))
        .int("end_ns", |row| Some(losses[row].end))
        .int("lost_ns", |row| Some(losses[row].lost_ns))
        .text("cause", |row| losses[row].cause.id())
        .text("finding", move |row| finding(&losses[row]))
        .text("evidence", |row| losses[row].evidence.id())
        .text("confidence", |row| losses[row].confidence.id())
        .int("pid", move |row| pid(losses[row].thread))
        .int("tid", move |row| tid(losses[row].thread))
        .text("thread", move |row| thread(losses[row].thread))
        .text("call_name", move |row| call(losses[row].call))
        .int("holder_tid", move |row| tid(losses[row].holder))
        .text("holder_thread", move |row| thread(losses[row].holder))
        .text("holder_call_name", move |row| call(losses[row].holder_call));
    if refer == Refer::ByName {
        return table;
    }
    table
        .int("call", |row| losses[row].call.some().map(|call| call.index() as i64))
        .int("holder_call", |row| losses[row].holder_call.some().map(|call| call.index() as i64))
        .int("wait", |row| losses[row].wait.some().map(|wait| wait.index() as i64))
}
