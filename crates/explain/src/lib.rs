//! Trace to Findings: which call lost how much time, because of what, and how to fix it.
//!
//! A pure function: no files, no clocks, no printing.

mod finding;

pub use finding::{Cause, Confidence, Evidence, Example, Explanation, Finding, Fix, Party, Place, Summary};

use trace::{CallId, Ns, ThreadId, Trace};

/// What to look at.
#[derive(Clone, Debug)]
pub struct Options {
    /// Calls that take longer than this are slow and get explained, ns.
    pub min_wait_ns: Ns,
    /// Which calls may appear as waiters; the rest of the trace still serves as evidence.
    pub selection: trace::Selection,
}

impl Default for Options {
    fn default() -> Self {
        Options { min_wait_ns: 100_000, selection: trace::Selection::default() }
    }
}

/// Explains what held up the calls of `trace`.
pub fn explain(trace: &Trace, options: &Options) -> Explanation {
    Explanation {
        trace: summary(trace),
        slow_call_ns: 0,
        slow_calls: 0,
        explained_ns: 0,
        min_wait_ns: options.min_wait_ns,
        findings: Vec::new(),
    }
}

/// The innermost useful source place of each call.
pub fn places(trace: &Trace, calls: &[CallId]) -> Vec<Option<Place>> {
    let _ = trace;
    vec![None; calls.len()]
}

/// Sums a trace up. The path is left for whoever read it to fill.
pub fn summary(trace: &Trace) -> Summary {
    let (start, end) = trace.span().unwrap_or_default();
    let mut processes = vec![false; trace.processes.len()];
    let mut threads = vec![false; trace.threads.len()];
    let mark = |id: Option<usize>, seen: &mut Vec<bool>| {
        if let Some(at) = id {
            seen[at] = true;
        }
    };
    for thread in &trace.calls.thread {
        mark(thread.some().map(ThreadId::index), &mut threads);
        mark(trace.process_of_thread(*thread).some().map(|process| process.index()), &mut processes);
    }
    for stream in &trace.ops.stream {
        mark(trace.process_of_stream(*stream).some().map(|process| process.index()), &mut processes);
    }
    let number = |seen: &[bool]| seen.iter().filter(|seen| **seen).count() as u64;
    let lost = &trace.meta.lost;
    Summary {
        source: trace.meta.source.id().to_owned(),
        source_version: trace.meta.source_version.clone(),
        path: String::new(),
        duration_ns: end - start,
        processes: number(&processes),
        threads: number(&threads),
        calls: trace.calls.len() as u64,
        ops: trace.ops.len() as u64,
        unmatched_calls: lost.unmatched_calls,
        unmatched_ops: lost.unmatched_ops,
        lost_records: lost.records,
        truncated: lost.truncated,
        clock: trace.meta.clock.id().to_owned(),
        notes: trace.meta.notes.clone(),
    }
}
