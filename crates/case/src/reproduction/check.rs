//! Whether a workload shows a finding.

use crate::explain_with::Explain;
use explain::{Cause, Finding};
use sim::{Model, Options};
use trace::Ns;
use waits::classify;
use workload::Workload;

/// A finding as a run of a workload shows it.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Whether the first finding of the run is the same.
    pub is_first: bool,
    /// The first finding of the run that is the same; `None` if none is.
    pub finding: Option<Finding>,
    /// The cause of the first finding; `None` without findings.
    pub first: Option<Cause>,
    /// How long the run took, ns.
    pub ns: Ns,
    /// Why it did not run to its end.
    pub error: Option<String>,
}

/// Most rows of the trace of a run.
const MOST_ROWS: usize = 4_000_000;

/// Runs a workload on a model, and explains the run.
pub fn shown(workload: &Workload, model: &Model, finding: &Finding, explain: Explain<'_>) -> Shown {
    let failed = |error: String| Shown { error: Some(error), ..Shown::default() };
    if let Err(error) = workload.check() {
        return failed(error.to_string());
    }
    let options = Options { trace: true, most_rows: MOST_ROWS, most_calls: 10_000_000 };
    let trace = match sim::run(workload, model, options) {
        Ok((_, Some(trace))) => trace,
        Ok((_, None)) => return failed(String::from("the run has no trace")),
        Err(error) => return failed(error.to_string()),
    };
    let (explanation, _) = explain(&trace);
    let first = explanation.findings.first().map(|first| first.cause);
    let is_first = explanation.findings.first().is_some_and(|first| is_same(first, finding));
    let ns = trace.span().map_or(0, |(start, end)| end - start);
    let found = explanation.findings.into_iter().find(|found| is_same(found, finding));
    Shown { is_first, finding: found, first, ns, error: None }
}

/// Whether a finding of a run is that of the trace: the cause, in calls of the same kind. The run makes the driver's calls, the trace may have
/// the runtime's.
fn is_same(found: &Finding, finding: &Finding) -> bool {
    found.cause == finding.cause && classify(&found.waiter.call) == classify(&finding.waiter.call)
}
