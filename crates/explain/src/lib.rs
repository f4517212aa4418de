//! Trace to Findings: which call lost how much time, because of what, and how to fix it.
//!
//! A pure function: no files, no clocks, no printing.

mod finding;

pub use finding::{Cause, Confidence, Evidence, Example, Explanation, Finding, Fix, Party, Place, Summary};

use trace::{CallId, Ns, Trace};

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
    let _ = trace;
    Explanation {
        trace: Summary::default(),
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
