//! One run of a workload from a file: the bodies and calls of its threads.

use crate::experiment::Bench;
use crate::results::number;
use crate::session::Run;
use report::table::{Align, Table};
use report::{Page, paragraph, units};
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
pub fn single_text(workload: &Workload, bench: &Bench, run: &Run, page: Page) -> String {
    let driver = bench.driver.as_ref().map(|driver| format!(", driver {driver}")).unwrap_or_default();
    let how = if bench.simulated { " · simulated" } else { "" };
    let mut text = paragraph(&format!("{} · {}{driver}{how}", workload.name, bench.name), page);
    text.push('\n');
    let mut bodies = Table::new(&[
        ("bodies", Align::Right),
        ("time", Align::Right),
        ("each", Align::Right),
        ("per second", Align::Right),
        ("between events", Align::Right),
        ("max error", Align::Right),
        ("thread", Align::Left),
    ]);
    let mut calls = Table::new(&[
        ("calls", Align::Right),
        ("time", Align::Right),
        ("each", Align::Right),
        ("longest", Align::Right),
        ("over 1 ms", Align::Right),
        ("call", Align::Left),
        ("thread", Align::Left),
    ]);
    for (process, thread, outcome) in threads(workload, run) {
        let name = format!("{process} / {}", thread.name);
        bodies.push(vec![
            units::count(outcome.rounds),
            units::duration(outcome.elapsed_ns as i64),
            units::duration((outcome.elapsed_ns / outcome.rounds.max(1)) as i64),
            units::count(per_second(outcome).round() as u64),
            outcome.between_events_ns.map_or(String::new(), |ns| units::duration(ns as i64)),
            outcome.max_error.map_or(String::new(), |error| format!("{error:.1e}")),
            name.clone(),
        ]);
        outcome.calls.iter().for_each(|call| calls.push(cells(call, &name)));
    }
    bodies.drop_empty_columns();
    text.push_str(&bodies.boxed(Some(page.columns)));
    text.push_str("\ncalls of the bodies\n");
    text.push_str(&calls.boxed(Some(page.columns)));
    for note in &run.notes {
        text.push_str(&paragraph(&format!("note: {note}"), page));
    }
    if let Some(why) = &run.stopped {
        text.push_str(&paragraph(&format!("PARTIAL: {why}"), page));
    }
    text
}

fn cells(call: &CallTimes, thread: &str) -> Vec<String> {
    vec![
        units::count(call.count),
        units::duration(call.total_ns as i64),
        units::duration((call.total_ns / call.count.max(1)) as i64),
        units::duration(call.max_ns as i64),
        if call.stalled_ns > 0 { units::duration(call.stalled_ns as i64) } else { String::new() },
        call.name.to_owned(),
        thread.to_owned(),
    ]
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
