//! One run of a workload from a file: the bodies and calls of its threads.

use crate::experiment::Bench;
use crate::results::number;
use crate::session::Run;
use report::document::{Document, Form, Paragraph, Table};
use report::{Page, units};
use serde_json::{Value, json};
use workload::{CallTimes, Thread, ThreadOutcome, Workload};

/// Threads, each with the name of its process and its outcome.
fn threads<'a>(
    workload: &'a Workload,
    run: &'a Run,
) -> impl Iterator<Item = (&'a str, &'a Thread, &'a ThreadOutcome)> {
    let threads = workload
        .processes
        .iter()
        .flat_map(|process| process.threads.iter().map(|thread| (process.name.as_str(), thread)));
    threads.zip(&run.outcome.threads).map(|((process, thread), outcome)| (process, thread, outcome))
}

/// The bodies and the calls of each thread.
pub fn single(workload: &Workload, bench: &Bench, run: &Run, page: Page) -> Document {
    let driver = bench.driver.as_ref().map(|driver| format!(", driver {driver}")).unwrap_or_default();
    let how = if bench.simulated { " · simulated" } else { "" };
    let threads: Vec<(String, &ThreadOutcome)> = threads(workload, run)
        .map(|(process, thread, outcome)| (format!("{process} / {}", thread.name), outcome))
        .collect();
    let mut document = Document::new(Form::Text(page));
    document.push(Paragraph::new(format!("{} · {}{driver}{how}", workload.name, bench.name)));
    document.gap();
    document.push(bodies(&threads));
    document.gap();
    document.push(Paragraph::new("calls of the bodies"));
    document.push(calls(&threads));
    document.extend(run.notes.iter().map(|note| Paragraph::new(format!("note: {note}"))));
    document.extend(run.stopped.as_ref().map(|why| Paragraph::new(format!("PARTIAL: {why}"))));
    document
}

fn time(ns: u64) -> String {
    units::duration(ns as i64)
}

fn bodies(threads: &[(String, &ThreadOutcome)]) -> Table {
    Table::of(threads)
        .right("bodies", |(_, of)| units::count(of.rounds))
        .right("time", |(_, of)| time(of.elapsed_ns))
        .right("each", |(_, of)| time(of.elapsed_ns / of.rounds.max(1)))
        .right("per second", |(_, of)| units::count(per_second(of).round() as u64))
        .right("between events", |(_, of)| of.between_events_ns.map_or(String::new(), time))
        .right("max error", |(_, of)| of.max_error.map_or(String::new(), |error| format!("{error:.1e}")))
        .left("thread", |(name, _)| name.clone())
        .table()
        .without_empty_columns()
}

fn calls(threads: &[(String, &ThreadOutcome)]) -> Table {
    let calls = threads.iter().flat_map(|(name, of)| of.calls.iter().map(move |call| (name, call)));
    let calls: Vec<(&String, &CallTimes)> = calls.collect();
    Table::of(&calls)
        .right("calls", |(_, call)| units::count(call.count))
        .right("time", |(_, call)| time(call.total_ns))
        .right("each", |(_, call)| time(call.total_ns / call.count.max(1)))
        .right("longest", |(_, call)| time(call.max_ns))
        .right(
            "over 1 ms",
            |(_, call)| if call.stalled_ns > 0 { time(call.stalled_ns) } else { String::new() },
        )
        .left("call", |(_, call)| call.name)
        .left("thread", |(name, _)| (*name).clone())
        .table()
}

fn per_second(outcome: &ThreadOutcome) -> f64 {
    outcome.rounds as f64 * 1e9 / outcome.elapsed_ns.max(1) as f64
}

/// The same as JSON.
pub fn single_json(workload: &Workload, bench: &Bench, run: &Run) -> Value {
    let call = |call: &CallTimes| {
        json!({
            "name": call.name,
            "count": call.count,
            "total_ns": call.total_ns,
            "max_ns": call.max_ns,
            "stalled_ns": call.stalled_ns,
        })
    };
    let thread = |(process, thread, outcome): (&str, &Thread, &ThreadOutcome)| {
        json!({
            "process": process,
            "thread": thread.name,
            "rounds": outcome.rounds,
            "elapsed_ns": outcome.elapsed_ns,
            "per_s": number(per_second(outcome)),
            "max_error": outcome.max_error,
            "between_events_ns": outcome.between_events_ns,
            "calls": outcome.calls.iter().map(call).collect::<Vec<_>>(),
        })
    };
    json!({
        "workload": workload.name,
        "device": bench.name,
        "driver": bench.driver,
        "simulated": bench.simulated,
        "partial": run.stopped.is_some(),
        "notes": run.notes,
        "threads": threads(workload, run).map(thread).collect::<Vec<_>>(),
    })
}
