//! Calls that copy memory: their own copies, or a wait for what is before them.

use super::facts::{ALIKE, Facts, USUAL_NS, each, reaches, sum};
use crate::judgement::{Reading, Sight};
use crate::model::{Memory, Row};
use explain::{Bound, Cause, Class, Confidence};
use trace::Ns;

/// Number of copies from which their count is worth a word: with fewer, their usual costs are below 10 ms.
const MANY: u64 = 1_000;

/// The reading of all calls that copy. `waited_ns` of the kernels' time is that of other calls that wait.
pub(super) fn reading(facts: &Facts<'_>, waited_ns: Ns) -> Option<Reading> {
    let rows = facts.calls(|class| matches!(class, Class::Copy { .. }));
    let (count, calls_ns) = sum(rows.iter().copied());
    if calls_ns == 0 {
        return None;
    }
    let of = |sight| facts.of(sight, rows.iter().copied());
    let (copies_ns, kernels_ns) = (facts.copies.1, (facts.kernels.1 - waited_ns).max(0));
    if each(count, calls_ns) < USUAL_NS {
        let small = of(Sight::SmallCopies);
        return (count >= MANY).then(|| small.because(Cause::OwnWork, &["batched-copies"]));
    }
    if facts.work_ns.is_none() {
        return Some(of(Sight::Alike).unknown());
    }
    if reaches(copies_ns, ALIKE, calls_ns) {
        let run = of(Sight::CopiesRun);
        return Some(match facts.memory() {
            Memory::Pageable => run.because(Cause::PageableStaging, &["pinned-reused"]),
            Memory::Pinned | Memory::Unknown | Memory::None => Reading { bound: Some(Bound::Copies), ..run },
        });
    }
    if !reaches(copies_ns.saturating_add(kernels_ns), ALIKE, calls_ns) {
        return Some(of(Sight::Unlike).unknown());
    }
    Some(waits(facts, of(Sight::CopiesWait), &rows))
}

/// The reading of calls that last as long as kernels. Where calls and work do not fit one after another into the span, they
/// were at once: then no other reason is left for most of their time.
fn waits(facts: &Facts<'_>, reading: Reading, rows: &[&Row]) -> Reading {
    let pinned = if facts.memory() == Memory::Pinned { None } else { Some("pinned-reused") };
    let fixes: Vec<&str> = ["device-scalar"].into_iter().chain(pinned).collect();
    let mut reading = reading.because(Cause::HiddenSync, &fixes);
    let (_, calls_ns) = sum(rows.iter().copied());
    if let (Some(span_ns), Some(work_ns)) = (facts.summary.span_ns, facts.work_ns) {
        let together_ns = calls_ns.saturating_add(work_ns).saturating_sub(span_ns).min(calls_ns).min(work_ns);
        // Calls that are longer than the span are of several threads.
        if calls_ns <= span_ns && together_ns > 0 {
            reading.together_ns = Some(together_ns);
            let is_most = reaches(together_ns, ALIKE, calls_ns);
            reading.confidence = Some(if is_most { Confidence::Likely } else { Confidence::Possible });
        }
    }
    reading
}
