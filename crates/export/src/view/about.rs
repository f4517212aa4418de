//! A trace's description and findings, as pairs of words.

use crate::Export;
use serde_json::Value;
use trace::{Ns, Trace};

/// The information besides the events.
pub(super) struct About {
    /// Pairs such as `lost.records`: 3, in the order of `meta.json`.
    pub facts: Vec<(String, Value)>,
    /// One line per finding.
    pub findings: Vec<String>,
    /// Whether anything was lost.
    pub lost: bool,
    /// The offset that is added to all times, ns.
    pub shift: Ns,
    /// The trace's time 0 as nanoseconds since the Unix epoch, if known.
    pub epoch_unix_ns: Option<Ns>,
}

impl About {
    pub fn new(export: &Export<'_>) -> About {
        let meta = &export.trace.meta;
        let mut facts = Vec::new();
        flatten("", serde_json::to_value(meta).unwrap_or_default(), &mut facts);
        let (lost, findings) = (&meta.lost, &export.explanation.findings);
        let several = export.explanation.trace.processes > 1;
        let counts = [lost.unmatched_calls, lost.unmatched_ops, lost.records];
        About {
            facts,
            findings: findings.iter().map(|finding| report::explanation::line(finding, several)).collect(),
            lost: lost.truncated || counts.iter().any(|count| *count > 0),
            shift: shift(export.trace),
            epoch_unix_ns: meta.epoch_unix_ns,
        }
    }
}

/// The time that viewers show for the trace's 0, ns: viewers accept no negative times.
fn shift(trace: &Trace) -> Ns {
    let (first, _) = trace.span().unwrap_or_default();
    -first.min(0)
}

/// Turns objects and lists into pairs; skips empty values.
fn flatten(path: &str, value: Value, facts: &mut Vec<(String, Value)>) {
    let within = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(entries) => {
            entries.into_iter().for_each(|(key, value)| flatten(&within(&key), value, facts))
        }
        Value::Array(values) => {
            values
                .into_iter()
                .enumerate()
                .for_each(|(at, value)| flatten(&within(&(at + 1).to_string()), value, facts));
        }
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        value => facts.push((path.to_owned(), value)),
    }
}
