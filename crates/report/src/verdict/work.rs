//! Work of busy GPUs that could take less time.

use super::named::{Named, sure_gain};
use super::threshold::LOST;
use crate::escape::visible;
use crate::place::{short, wide};
use crate::units;
use explain::{Cause, Explanation, Finding, GpuAccount, OverlapRule, Phase, Place};
use trace::Ns;

/// Adds the work of busy GPUs that could take less time; `once` is the part of their time that one-time costs take.
pub(super) fn add(named: &mut Vec<Named>, explanation: &Explanation, least: f64, once: f64) {
    let mended = busy_with(explanation, least);
    if named.is_empty() {
        let one = mended.or_else(|| in_one_stream(explanation));
        named.extend(one.or_else(|| copying(explanation)));
    } else {
        let idle = |gpu: &GpuAccount| 1.0 - gpu.busy_ns as f64 / gpu.working_ns().max(1) as f64;
        let idle = explanation.accounts.gpus.iter().map(idle);
        // A cost that the same fix mends says why it matters.
        let is_told =
            |one: &Named| named.iter().any(|known| known.fixes.iter().any(|fix| one.fixes.contains(fix)));
        let mended = mended.filter(|one| !is_told(one));
        let copies = copying(explanation).filter(|copies| are_most(copies, named, idle));
        let is_more = |copies: &Named| mended.as_ref().is_none_or(|one| one.share * TIMES <= copies.share);
        named.extend(copies.filter(is_more).or(mended));
    }
    let alone = communicating(explanation).filter(|alone| !explains(named, alone));
    named.extend(alone);
    let others: f64 = named.iter().map(|cause| cause.share).sum();
    named.extend(small_kernels(explanation, others + once));
}

/// Copies that a busy GPU is busy with, and that would take less time if they were mended: the program gains that.
fn busy_with(explanation: &Explanation, least: f64) -> Option<Named> {
    let is_of_copies = |finding: &&Finding| {
        let copies = [Cause::PageableStaging, Cause::PageableOrder, Cause::CopyEngineBusy, Cause::PageFaults];
        copies.contains(&finding.cause) && finding.share >= LOST && finding.phase == Phase::Recurring
    };
    let gain =
        |finding: &Finding| sure_gain(explanation, finding.fixes.first()?).filter(|gain| *gain >= least);
    let mut found = explanation
        .findings
        .iter()
        .filter(is_of_copies)
        .filter_map(|finding| Some((finding, gain(finding)?)));
    found.next().map(|(finding, share)| Named { share, ..Named::of(finding, explanation, true) })
}

/// The smallest part of a GPU's time that copies and kernels in one stream must cost it: a choice.
const IN_TURNS: f64 = 0.15;

/// Streams among which work is split for example. A loop that copies in, computes and copies out 64 MB took 47 % less in four than in one by
/// this, and 48 % by measurement (H200).
const STREAMS: f64 = 4.0;

/// Copies and kernels of a busy GPU that could run at the same time, and are in one stream.
fn in_one_stream(explanation: &Explanation) -> Option<Named> {
    let [gpu] = explanation.accounts.gpus.as_slice() else { return None };
    let overlap =
        explanation.overlap.iter().find(|overlap| overlap.judged && overlap.device == gpu.device)?;
    let lost = overlap.lost.iter().find(|lost| lost.rule == OverlapRule::OneStream)?;
    let share = lost.lost_ns as f64 / gpu.working_ns().max(1) as f64;
    let remedy = match gpu.busy.copies_ns * 2 > gpu.busy_ns {
        true => {
            "copies are where time is, and kernels wait for them: copy less, or split the work among streams"
        }
        false => "copies and kernels run one after the other: split the work among streams",
    };
    // The first piece's copy in and the last one's copy out overlap with nothing.
    let gain = units::whole_percent(share * (1.0 - 1.0 / STREAMS));
    let what = format!("{remedy}, of which {STREAMS} would gain {gain}");
    // The copy's place says most, whichever of both came late.
    let late = lost.operations.iter().flat_map(|late| {
        let behind = late.behind.iter().map(|behind| (&behind.call, &behind.place));
        std::iter::once((&late.call, &late.place)).chain(behind)
    });
    let parties: Vec<_> = late.collect();
    let is_copy = |(call, _): &&(&String, &Option<Place>)| call.contains("Memcpy");
    let copy = parties.iter().find(is_copy);
    let place = copy.into_iter().chain(&parties).find_map(|(_, place)| place.as_ref());
    let at = place.map(short).or_else(|| copy.map(|(call, _)| visible(call).into_owned()));
    let named = Named {
        at: at.unwrap_or_default(),
        whole: place.map_or(String::new(), wide),
        // No finding has it, and the cause is never printed: what is lost is overlap.
        ..Named::plain(Cause::GpuFull, share, what)
    };
    (share >= IN_TURNS).then_some(named)
}

/// The largest part of a GPU's time that it may be idle, and that everything else may cost, for what its kernels leave free to be news: a
/// choice.
const FULL: f64 = 0.15;

/// Kernels that leave most of a busy GPU free; `others` is the part of its time that everything else costs.
fn small_kernels(explanation: &Explanation, others: f64) -> Option<Named> {
    let [gpu] = explanation.accounts.gpus.as_slice() else { return None };
    let small = gpu.small_kernels.as_ref()?;
    let of_gpu = |ns: Ns| ns as f64 / gpu.working_ns().max(1) as f64;
    if others >= FULL || of_gpu(gpu.busy_ns) < 1.0 - FULL {
        return None;
    }
    let share = of_gpu(gpu.busy.kernels_ns + gpu.busy.both_ns) * (1.0 - small.filled);
    if share < MOST {
        return None;
    }
    let filled = units::percent(small.filled);
    let what = format!(
        "kernels have blocks for {filled} of its multiprocessors: run several at once, or larger ones"
    );
    Some(Named {
        at: small.place.as_ref().map_or_else(|| visible(&small.kernel).into_owned(), short),
        whole: small.place.as_ref().map_or(String::new(), wide),
        // No finding has it, and the cause is never printed: the GPU is busy.
        ..Named::plain(Cause::GpuFull, share, what)
    })
}

/// The smallest part of a GPU's time that what it is busy with must take: a choice.
const MOST: f64 = 0.5;

/// The smallest part of a GPU's time that it must do nothing but copy for: a choice.
pub(super) const COPYING: f64 = 0.25;

/// Copies that take much of a busy GPU's time, and wait for nothing.
fn copying(explanation: &Explanation) -> Option<Named> {
    let copying = |gpu: &&GpuAccount| gpu.busy.copies_ns as f64 / gpu.working_ns().max(1) as f64;
    let gpus = explanation.accounts.gpus.iter().filter(|gpu| copying(gpu) >= COPYING);
    let gpu = gpus.max_by(|one, other| copying(one).total_cmp(&copying(other)))?;
    let copies = gpu.main_copies.as_ref()?;
    let what = "copies are where time is: copy less, or less often";
    Some(Named {
        at: copies.place.as_ref().map_or_else(|| visible(&copies.call).into_owned(), short),
        whole: copies.place.as_ref().map_or(String::new(), wide),
        // No finding has it, and the cause is never printed: the GPU is busy.
        ..Named::plain(Cause::GpuFull, copying(&gpu), what.to_owned())
    })
}

/// Copies are named beside findings if they take so many times as much as the GPU's idle time, and as each finding with what it exposes:
/// a choice.
const TIMES: f64 = 2.0;

/// Whether copies take far more time than each other cost, and no other cost is one of copies. `idle` has the part of its time for which each GPU
/// is idle.
fn are_most(copies: &Named, others: &[Named], idle: impl Iterator<Item = f64>) -> bool {
    let is_of_copies =
        |one: &Named| [&one.call, &one.at, &one.behind].iter().any(|text| text.contains("emcpy"));
    let mut costs = others.iter().map(Named::worth).chain(idle);
    !others.iter().any(is_of_copies) && costs.all(|cost| cost * TIMES <= copies.share)
}

/// The smallest part of a GPU's time for which it must do nothing but communicate: a choice.
const ALONE: f64 = 0.15;

/// Whether costs say why communication runs alone: it waits for other ranks, or work waits for it.
fn explains(costs: &[Named], alone: &Named) -> bool {
    let orders = [Cause::Dependency, Cause::DefaultStream, Cause::ConnectionAliasing];
    let explains = |one: &Named| {
        one.cause == Cause::CollectiveWait || orders.contains(&one.cause) && one.share * TIMES >= alone.share
    };
    costs.iter().any(explains)
}

/// Communication of GPUs that compute nothing meanwhile.
fn communicating(explanation: &Explanation) -> Option<Named> {
    let gpus = &explanation.accounts.gpus;
    let sum = |of: fn(&GpuAccount) -> Ns| gpus.iter().map(of).sum::<Ns>() as f64;
    let share = sum(|gpu| gpu.exposed_communication_ns) / sum(GpuAccount::working_ns).max(1.0);
    let gpu = gpus.iter().max_by_key(|gpu| gpu.exposed_communication_ns)?;
    // The time for which a rank waits for others is a part of it where others are not in the trace.
    let why = if gpu.collective_wait_ns.is_some() { "" } else { ", or another rank is late" };
    let what = format!("communication runs alone{why}: start it sooner, or in a stream of its own");
    let main = gpu.main_communication.as_ref().filter(|_| share >= ALONE)?;
    Some(Named {
        at: main.place.as_ref().map_or_else(|| visible(&main.call).into_owned(), short),
        whole: main.place.as_ref().map_or(String::new(), wide),
        // No finding has it, and the cause is never printed: the GPU is busy.
        ..Named::plain(Cause::GpuFull, share, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_named_beside_far_smaller_costs() {
        let named = |at: &str, share: f64| {
            let plain = Named::plain(Cause::ExplicitSync, share, String::new());
            [Named { at: at.to_owned(), ..plain }]
        };
        let copies = Named::plain(Cause::GpuFull, 0.4, String::new());
        let are_most = |others: &[Named], idle: f64| are_most(&copies, others, std::iter::once(idle));
        assert!(are_most(&named("cuStreamSynchronize", 0.19), 0.1));
        assert!(!are_most(&named("cuStreamSynchronize", 0.21), 0.1), "that is worth mending, too");
        assert!(!are_most(&named("cuStreamSynchronize", 0.1), 0.3), "the GPU is not busy");
        assert!(!are_most(&named("cudaMemcpyAsync", 0.1), 0.1), "it is a cost of copies");
    }

    #[test]
    fn communication_that_something_explains_is_no_cost_of_its_own() {
        let alone = Named::plain(Cause::GpuFull, 0.4, String::new());
        let explains =
            |cause: Cause, share: f64| explains(&[Named::plain(cause, share, String::new())], &alone);
        assert!(explains(Cause::CollectiveWait, 0.05), "it waits for other ranks");
        assert!(explains(Cause::ConnectionAliasing, 0.2));
        assert!(!explains(Cause::ConnectionAliasing, 0.19), "that explains less than half");
        assert!(!explains(Cause::HostCode, 0.4));
    }
}
