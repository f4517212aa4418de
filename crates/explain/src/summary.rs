//! A trace in numbers.

use crate::Summary;
use crate::finding::GpuClock;
use trace::{Api, Trace};

/// Sums up a trace. The caller that read it fills in the path.
pub fn summary(trace: &Trace) -> Summary {
    let mut threads = vec![false; trace.threads.len()];
    let mut processes = vec![false; trace.processes.len()];
    let mut calls = 0;
    for at in 0..trace.calls.len() {
        if trace.calls.api[at] == Api::Os {
            continue;
        }
        calls += 1;
        if let Some(thread) = trace.calls.thread[at].some() {
            threads[thread.index()] = true;
        }
    }
    let of_threads = threads.iter().zip(&trace.threads.process).filter(|(used, _)| **used);
    for process in of_threads.filter_map(|(_, process)| process.some()) {
        processes[process.index()] = true;
    }
    for stream in &trace.ops.stream {
        if let Some(process) = trace.process_of_stream(*stream).some() {
            processes[process.index()] = true;
        }
    }
    let count = |used: &[bool]| used.iter().filter(|used| **used).count() as u64;
    let meta = &trace.meta;
    Summary {
        source: meta.source.clone(),
        source_title: meta.source_title().to_owned(),
        source_version: meta.source_version.clone(),
        path: String::new(),
        selected_ns: None,
        duration_ns: trace.span().map_or(0, |(start, end)| meta.recorded_part(start, end)),
        processes: count(&processes),
        threads: count(&threads),
        calls,
        ops: trace.ops.len() as u64,
        unmatched_calls: meta.lost.unmatched_calls,
        unmatched_ops: meta.lost.unmatched_ops,
        lost_records: meta.lost.records,
        lost_reasons: meta.lost.reasons.clone(),
        left_out: meta.left_out.clone(),
        truncated: meta.lost.truncated,
        clock: meta.clock.id().to_owned(),
        gpu_clock: meta.gpu_clock.map(|clock| GpuClock {
            early_ns: clock.early,
            late_ns: clock.late,
            wrong_ns: clock.wrong,
        }),
        driver: meta.driver.clone(),
        runtime: meta.runtime.clone(),
        libraries: meta.libraries.clone(),
        notes: meta.notes.clone(),
    }
}
