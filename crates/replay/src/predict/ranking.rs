//! Ranks findings by what the program would gain without each.
//!
//! The GPUs' idle time that a finding is the root of is what its removal gains, but for a wait for the device that nobody asked for: it
//! empties the queue, and work of the host comes to light that was hidden before. Only of these the removal is replayed.

use crate::predict::gains::is_quick;
use crate::predict::{Change, Predictor};
use crate::{Error, Fit, Removed, recover};
use explain::{Cause, Explanation, Finding, Loss};
use trace::{Ns, Trace};
use waits::AwaitedByCall;

/// Most findings whose removal is predicted: those that lost most host time.
const REMOVED: usize = 8;

/// Whether a trace is small enough for its findings to rank by removal.
pub fn is_ranked(trace: &Trace) -> bool {
    is_quick(trace, REMOVED)
}

/// Predicts what the program would gain without each hidden wait that lost most, and orders the findings by it. They keep the order of
/// their costs where no replay fits, or where the trace is too large for one beside an explanation.
pub fn rank(trace: &Trace, explanation: &mut Explanation, losses: &mut [Loss]) {
    let findings = &explanation.findings;
    let mut wanted: Vec<usize> =
        (0..findings.len()).filter(|at| empties_a_queue(&findings[*at], findings)).collect();
    wanted.sort_by_key(|at| std::cmp::Reverse(explanation.findings[*at].lost_ns));
    wanted.truncate(REMOVED);
    // Without costs to the GPUs, what threads lost is the order.
    let is_known = explanation.accounts.refused.is_none() && !explanation.accounts.gpus.is_empty();
    if wanted.is_empty() || !is_known || !is_ranked(trace) {
        return;
    }
    let removals: Vec<_> = wanted
        .iter()
        .filter_map(|at| Some((*at, Removed::of(&explanation.findings[*at].id, explanation, losses)?)))
        .collect();
    let steady = explanation.accounts.steady.as_ref().map(|steady| (steady.start_ns, steady.end_ns));
    // Findings keep the order of their costs.
    let Ok(gains) = removal_gains(trace, steady, removals.iter().map(|(_, removed)| removed)) else { return };
    for ((at, _), gain) in removals.iter().zip(gains) {
        explanation.findings[*at].removal = gain;
    }
    explanation.rank(losses);
}

/// Whether calls wait for the device though nobody asks for that, and are not what others wait for: that one has the cost.
fn empties_a_queue(finding: &Finding, findings: &[Finding]) -> bool {
    let is_asked = matches!(finding.cause, Cause::ExplicitSync | Cause::CollectiveWait);
    finding.cause.awaited_by_call() == AwaitedByCall::Device
        && !is_asked
        && finding.lost_ns > 0
        && !finding.is_of_account
        && !finding.is_waited_for(findings)
        && !is_for_a_file(finding, findings)
}

/// Whether the thread writes to a file at the same place: it writes what it waits for, and to write it elsewhere is the remedy.
fn is_for_a_file(finding: &Finding, findings: &[Finding]) -> bool {
    let thread = |of: &Finding| (of.waiter.pid, of.waiter.tid);
    findings
        .iter()
        .filter(|other| other.cause == Cause::FileWriting)
        .any(|other| thread(other) == thread(finding) && other.places.first() == finding.places.first())
}

/// The gain of each removal as a part of the window's time; `None` for what no step has, and for all if the replay does not fit.
fn removal_gains<'a>(
    trace: &Trace,
    window: Option<(Ns, Ns)>,
    removals: impl ExactSizeIterator<Item = &'a Removed>,
) -> Result<Vec<Option<f64>>, Error> {
    let recovered = recover(trace)?;
    let fit = Fit::brief(trace, &recovered, &recovered.replay()?);
    if !fit.fits {
        return Ok(vec![None; removals.len()]);
    }
    let predictor = Predictor::new(trace, &recovered, &fit, &|_| {})?;
    let predictor = match window {
        Some(window) => predictor.in_window(window),
        None => predictor,
    };
    let gain = |removed: &Removed| {
        let found = predictor.gain(&[Change::Removed(removed)])?;
        // A thread that no longer waits ends earlier even if the GPU has as much to do as before.
        Ok(found.map(|(gain, _)| gain.share))
    };
    removals.map(gain).collect()
}
