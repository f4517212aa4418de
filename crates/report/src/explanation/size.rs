//! Size of findings: whether one gets a paragraph, or is too small for one.

use crate::verdict::{self, knows_costs};
use explain::{Explanation, Finding};

/// Number of findings that are printed in full if all are small.
const AT_LEAST: usize = 3;

/// Most findings that are printed in full.
const AT_MOST: usize = 7;

/// The findings that get a paragraph, and those too small for one.
///
/// A finding is small if it costs the GPUs less than a hundredth of their time. Where that is not known, it is small if it
/// is less than a thousandth of the time in slow calls and waits; if all are, the first [`AT_LEAST`] get a paragraph. Where only some calls
/// are selected, one that has a hundredth of their time is not small, whatever the GPUs lose by it.
pub(super) fn by_size(explanation: &Explanation, all: bool) -> (Vec<&Finding>, Vec<&Finding>) {
    let findings = &explanation.findings;
    if all {
        return (findings.iter().collect(), Vec::new());
    }
    let spent = [explanation.slow_call_ns, explanation.short_wait_ns, explanation.outside_wait_ns];
    let threshold: trace::Ns = spent.iter().map(|time| time / 1_000).sum();
    let is_selection = explanation.chosen_calls < explanation.trace.calls;
    let (mut large, mut small): (Vec<_>, Vec<_>) = match knows_costs(explanation) {
        true => {
            let least = verdict::least(&explanation.accounts.gpus);
            let of_selected = |finding: &Finding| is_selection && finding.lost_ns / 10 >= threshold.max(1);
            let lost = verdict::lost_by_a_thread(explanation);
            let named = [lost, verdict::longest_of_start_up(explanation)];
            let is_named = |finding: &Finding| named.iter().flatten().any(|named| named.id == finding.id);
            findings
                .iter()
                .partition(|finding| finding.worth() >= least || of_selected(finding) || is_named(finding))
        }
        false => findings.iter().partition(|finding| finding.lost_ns >= threshold),
    };
    // In the verdict's order, as far as it names them.
    let named: Vec<_> =
        verdict::verdict_lines(explanation).into_iter().filter_map(|line| line.finding).collect();
    let position = |finding: &&Finding| named.iter().position(|id| *id == finding.id).unwrap_or(named.len());
    large.sort_by_key(position);
    if large.is_empty() && !knows_costs(explanation) {
        large = small.drain(..AT_LEAST.min(small.len())).collect();
    }
    small.splice(..0, large.drain(AT_MOST.min(large.len())..));
    (large, small)
}

/// Whether any finding costs the GPUs enough to be worth acting on; all do where that is not known.
pub(super) fn any_matters(explanation: &Explanation) -> bool {
    let costs = |finding: &Finding| finding.worth() >= verdict::SMALL;
    !knows_costs(explanation) || explanation.findings.iter().any(costs)
}
