//! The part of a trace around the worst of a finding.

use crate::explain_with::Explain;
use explain::{Explanation, Finding, Loss};
use trace::{Ns, Selection, Trace};

/// A part of a trace.
pub struct Extract {
    /// The part.
    pub trace: Trace,
    /// From when to when, ns of the whole trace's time; `None` if it is the whole trace.
    pub window: Option<(Ns, Ns)>,
    /// Whether the part has the finding as the whole trace has it.
    pub shows: bool,
}

/// Shortest part, ns: it shows what a thread did before and after. A choice.
const SHORTEST: Ns = 250_000_000;

/// The shortest part around the most lost time that shows the finding; all of the trace if none does.
pub fn extract(
    trace: &Trace,
    explanation: &Explanation,
    row: usize,
    losses: &[Loss],
    explain: Explain<'_>,
) -> Extract {
    let finding = &explanation.findings[row];
    let (start, end) = trace.span().unwrap_or_default();
    let mut stretches = stretches(explanation, row, losses);
    stretches.sort_unstable();
    let mut length = SHORTEST.max(finding.max_ns.saturating_mul(5));
    while length < (end - start) / 2 && !stretches.is_empty() {
        let middle = worst(&stretches, length);
        let from = (middle - length / 2).clamp(start, end - length);
        let to = from + length;
        let part = trace.copy(&Selection { from: Some(from), to: Some(to), ..Selection::default() });
        if shows(&explain(&part).0, finding, row) {
            return Extract { trace: part, window: Some((from, to)), shows: true };
        }
        length = length.saturating_mul(2);
    }
    Extract { trace: trace.clone(), window: None, shows: true }
}

/// Whether an explanation has a finding, at the same place if that is the first.
pub(crate) fn shows(explanation: &Explanation, finding: &Finding, row: usize) -> bool {
    let is_it = |found: &Finding| found.cause == finding.cause && found.waiter.call == finding.waiter.call;
    match row {
        0 => explanation.findings.first().is_some_and(is_it),
        _ => explanation.findings.iter().any(is_it),
    }
}

/// When the finding lost time, and how much, ns.
fn stretches(explanation: &Explanation, row: usize, losses: &[Loss]) -> Vec<(Ns, Ns)> {
    let mine = losses.iter().filter(|loss| loss.finding == Some(row as u32) && loss.lost_ns > 0);
    let found: Vec<(Ns, Ns)> = mine.map(|loss| (loss.start, loss.lost_ns)).collect();
    if !found.is_empty() {
        return found;
    }
    let examples = explanation.findings[row].examples.iter();
    examples.map(|example| (example.start_ns, example.duration_ns)).collect()
}

/// The middle of the time of that length in which most was lost.
fn worst(stretches: &[(Ns, Ns)], length: Ns) -> Ns {
    let (mut first, mut sum, mut most, mut middle): (usize, i128, i128, Ns) = (0, 0, -1, 0);
    for (at, lost) in stretches {
        sum += i128::from(*lost);
        while stretches[first].0 < at.saturating_sub(length) {
            sum -= i128::from(stretches[first].1);
            first += 1;
        }
        if sum > most {
            (most, middle) = (sum, stretches[first].0 + (at - stretches[first].0) / 2);
        }
    }
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_part_has_most_lost_time() {
        let stretches = [(0, 5), (100, 1), (1000, 4), (1050, 4), (5000, 6)];
        assert_eq!(worst(&stretches, 100), 1025);
        assert_eq!(worst(&stretches[..1], 100), 0);
    }
}
