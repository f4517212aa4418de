//! Ranks findings by what the program would gain without each.
//!
//! The GPUs' idle time that a finding is the root of is what its removal gains, but for a wait for the device: it
//! empties the queue, and work of the host comes to light that was hidden before. Of a busy GPU, the time for which operations were held
//! back is an estimate. Only of these the removal is replayed.

use crate::predict::gains::is_quick;
use crate::predict::{Change, Predictor};
use crate::{Error, Fit, Removed, recover};
use explain::{Cause, Explanation, Finding, Loss, Options, Phase, holds_back, is_mended_by_itself, is_usual};
use trace::{Ns, Selection, Trace};
use waits::AwaitedByCall;

/// Most findings whose removal is predicted: those that lost most host time.
const REMOVED: usize = 8;

/// Rows of the part of a trace that stands for all of it where all would take too long: a few steps of most programs, a third of a second.
const PART: usize = 60_000;

/// Most rows of a trace of which a part is taken: to find it takes a tenth of a second for each million. A choice.
const MOST: usize = 5_000_000;

/// Whether a trace is small enough for its findings to rank by removal.
pub fn is_ranked(trace: &Trace) -> bool {
    rows(trace) <= MOST
}

/// Predicts what the program would gain without each wait for the device that lost most, and orders the findings by it. They keep the
/// order of their costs where no replay fits, or where the trace is too large for one beside an explanation. Of a trace in between, a
/// part from the middle of what repeats is run again.
pub fn rank(trace: &Trace, explanation: &mut Explanation, losses: &mut [Loss]) {
    // Without costs to the GPUs, what threads lost is the order.
    let is_known = explanation.accounts.refused.is_none() && !explanation.accounts.gpus.is_empty();
    if !is_known || !is_ranked(trace) {
        return;
    }
    match is_quick(trace, REMOVED) {
        true => predict(trace, explanation, losses),
        false => predict_by_part(trace, explanation),
    }
    let others = mended_by_themselves(&explanation.findings);
    for finding in &mut explanation.findings {
        finding.removal = finding.removal.map(|gain| (gain - others).max(gain.min(finding.cost_share)));
    }
    explanation
        .findings
        .iter_mut()
        .filter(|finding| needs_no_fix(finding))
        .for_each(|finding| finding.fixes.clear());
    explanation.rank(losses);
}

/// Part of the GPUs' time that causes cost again and again which are mended by themselves. A wait for the GPU exposes that, too, and is not
/// why it is there.
fn mended_by_themselves(findings: &[Finding]) -> f64 {
    let others = findings.iter().filter(|finding| is_mended_by_itself(finding.cause));
    others.filter(|finding| finding.phase == Phase::Recurring).map(|finding| finding.cost_share).sum()
}

/// The smallest part of the GPUs' time that makes a wait that the program asked for worth a fix: a choice.
const WORTH: f64 = 0.01;

/// Whether a finding is of waits that the program asked for, and by which the GPUs lose nothing: every program waits for its GPU.
fn needs_no_fix(finding: &Finding) -> bool {
    finding.cause == Cause::ExplicitSync && finding.worth() < WORTH
}

/// Predicts what the program would gain without each wait for the device that lost most.
fn predict(trace: &Trace, explanation: &mut Explanation, losses: &[Loss]) {
    let removals: Vec<_> = removable(explanation)
        .into_iter()
        .filter_map(|at| Some((at, Removed::of(&explanation.findings[at].id, explanation, losses)?)))
        .collect();
    if removals.is_empty() {
        return;
    }
    let steady = explanation.accounts.steady.as_ref().map(|steady| (steady.start_ns, steady.end_ns));
    // Findings keep the order of their costs.
    let Ok(gains) = removal_gains(trace, steady, removals.iter().map(|(_, removed)| removed)) else { return };
    for ((at, _), gain) in removals.iter().zip(gains) {
        explanation.findings[*at].removal = gain;
    }
}

/// Gives the findings the gains of the same findings of a part of the trace.
fn predict_by_part(trace: &Trace, explanation: &mut Explanation) {
    let wanted = removable(explanation);
    let Some(selection) = middle(trace, explanation).filter(|_| !wanted.is_empty()) else { return };
    let part = trace.copy(&selection);
    let options = Options { min_wait_ns: explanation.min_wait_ns, ..Options::default() };
    let (mut of_part, losses) = explain::explain_each(&part, &options);
    if !is_quick(&part, REMOVED) {
        return;
    }
    predict(&part, &mut of_part, &losses);
    for at in wanted {
        let finding = &mut explanation.findings[at];
        let same = of_part.findings.iter().find(|other| is_same(finding, other));
        finding.removal = same.and_then(|other| other.removal);
    }
}

/// The middle of what repeats, with as many rows as a part has; `None` where that is all.
fn middle(trace: &Trace, explanation: &Explanation) -> Option<Selection> {
    let steady = explanation.accounts.steady.as_ref().map(|steady| (steady.start_ns, steady.end_ns));
    let (from, to) = steady.or_else(|| trace.span())?;
    let mut starts: Vec<Ns> =
        trace.calls.start.iter().copied().filter(|start| (from..to).contains(start)).collect();
    starts.sort_unstable();
    // Operations are the other rows.
    let part = PART * trace.calls.len() / rows(trace).max(1);
    let first = starts.len().checked_sub(part)? / 2;
    let (from, to) = (*starts.get(first)?, *starts.get(first + part)?);
    Some(Selection { from: Some(from), to: Some(to), ..Selection::default() })
}

fn rows(trace: &Trace) -> usize {
    trace.calls.len() + trace.ops.len()
}

/// Whether two findings, of a trace and of a part of it, are of the same waits.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let key = |of: &Finding| (of.cause, of.waiter.pid, of.waiter.tid, of.waiter.call.clone());
    key(one) == key(other) && one.holder.is_some() == other.holder.is_some()
}

/// The findings whose removal is replayed, those first that lost most.
fn removable(explanation: &Explanation) -> Vec<usize> {
    let findings = &explanation.findings;
    let mut wanted: Vec<usize> =
        (0..findings.len()).filter(|at| is_removable(&findings[*at], findings)).collect();
    wanted.sort_by_key(|at| std::cmp::Reverse(findings[*at].lost_ns.max(findings[*at].cost_ns)));
    wanted.truncate(REMOVED);
    wanted
}

fn is_removable(finding: &Finding, findings: &[Finding]) -> bool {
    empties_a_queue(finding, findings) || (holds_back(finding.cause) && finding.cost_ns > 0)
}

/// Whether calls wait for the device, and are not what others wait for: that one has the cost.
fn empties_a_queue(finding: &Finding, findings: &[Finding]) -> bool {
    finding.cause.awaited_by_call() == AwaitedByCall::Device
        && finding.cause != Cause::CollectiveWait
        && (finding.cause != Cause::ExplicitSync || costs_the_usual(findings))
        && finding.lost_ns > 0
        && !lacks_processors(findings)
        && (!finding.is_of_account || !finding.waiter.call.is_empty())
        && !finding.is_waited_for(findings)
        && !is_for_a_file(finding, findings)
}

/// Smallest part of the GPUs' time that threads without a processor cost where their waits end late for that: a choice.
const CROWDED: f64 = 0.25;

/// Whether threads without a processor cost so much that every wait ends late: it seems to be what costs.
fn lacks_processors(findings: &[Finding]) -> bool {
    let without = findings.iter().filter(|finding| finding.cause == Cause::NoCpu);
    without.map(|finding| finding.cost_share).sum::<f64>() >= CROWDED
}

/// Whether what costs most is what every program has some of: a wait that the program asked for may be why it is not hidden behind the GPU's
/// work. Anything else is mended first.
fn costs_the_usual(findings: &[Finding]) -> bool {
    let most = findings.iter().filter(|finding| finding.cause != Cause::ExplicitSync);
    most.max_by(|one, other| one.cost_share.total_cmp(&other.cost_share))
        .is_none_or(|most| is_usual(most.cause))
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
