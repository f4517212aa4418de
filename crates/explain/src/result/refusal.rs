//! Reasons why a trace cannot show why GPUs were idle.

use serde::Serialize;
use trace::{Clock, Trace};

/// Reasons why a trace cannot show why GPUs were idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// More than one record in a thousand was lost: a GPU that seems idle may have worked.
    Lost,
    /// The clocks of host and GPU cannot be compared.
    Clock,
}

impl Refusal {
    pub(crate) fn of(trace: &Trace) -> Option<Refusal> {
        let lost = &trace.meta.lost;
        let kept = (trace.calls.len() + trace.ops.len()) as u64;
        if lost.records.saturating_mul(1000) > kept || lost.truncated {
            return Some(Refusal::Lost);
        }
        (trace.meta.clock == Clock::Separate).then_some(Refusal::Clock)
    }
}
