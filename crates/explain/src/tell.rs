//! Groups told as findings: which first, who waited for whom, where, and what helps.

use crate::facts::Facts;
use crate::fixes::{Beside, Fetched, Holding, Wanted, fixes, why};
use crate::fold::{Folded, fold};
use crate::group::{Group, Groups, Key, add};
use crate::loss::Loss;
use crate::places::{PlaceId, Places};
use crate::recorded::Recorded;
use crate::side::{Doing, Side};
use crate::stretch::Stretch;
use crate::words::{because, describe};
use crate::{Cause, Class, Confidence, Evidence, Example, Finding, Party, Place};
use rustc_hash::FxHashMap;
use trace::{CallId, Ns, StreamId};

/// Examples that a finding shows.
const EXAMPLES: usize = 3;

/// So many waits of one kind are no first uses: a program of PyTorch's loads a few hundred kernels.
const OFTEN: u64 = 1000;

/// Source places that a finding shows for each side.
const PLACES: usize = 3;

/// The findings: most time lost first, unexplained ones last, and whom a call kept waiting before
/// what that call itself lost. With them what was kept of single losses.
pub(crate) fn findings(facts: &Facts<'_>, groups: Groups) -> (Vec<Finding>, Vec<Loss>) {
    let (groups, mut losses) = groups.done();
    let mut folded = fold(facts, groups);
    folded.sort_by_key(|Folded { key, group, .. }| {
        (key.cause == Cause::Unexplained, std::cmp::Reverse(group.lost), *key)
    });
    victims_first(&mut folded);
    for (at, folded) in folded.iter().enumerate() {
        for loss in &folded.group.losses {
            losses[*loss as usize].finding = u32::try_from(at).ok();
        }
    }
    let stretches = folded.iter().flat_map(|folded| folded.group.stretches()).collect();
    let places = Places::new(facts.trace, stretches);
    let finding = |(at, folded): (usize, &Folded)| finding(facts, &places, at, folded);
    (folded.iter().enumerate().map(finding).collect(), losses)
}

/// A wait and the holder's own loss are one stretch of time told twice, and may differ by
/// microseconds either way: who waited for another goes before who did not, from within a tenth.
fn victims_first(folded: &mut [Folded]) {
    for at in 1..folded.len() {
        let Some(holder) = folded[at].key.holder else { continue };
        let close = |own: &Folded| own.group.lost - own.group.lost / 10 <= folded[at].group.lost;
        let tells_same = |own: &Folded| own.key.holder.is_none() && own.key.waiter == holder && close(own);
        if let Some(before) = folded[..at].iter().position(tells_same) {
            folded[before..=at].rotate_right(1);
        }
    }
}

fn finding(facts: &Facts<'_>, places: &Places, at: usize, folded: &Folded) -> Finding {
    let Folded { key, group, waiters, holders } = folded;
    let longest = longest(group);
    let waiting: Vec<_> = group.parts.iter().map(|(_, stretch)| *stretch).collect();
    let span: Ns = waiters.iter().map(|thread| facts.span(*thread)).fold(0, Ns::saturating_add);
    let recorded = Recorded::of(facts, group);
    let holding = holding(facts, key, group, recorded.as_ref());
    Finding {
        id: format!("H{}", at + 1),
        cause: key.cause,
        lost_ns: group.lost,
        share: group.lost as f64 / span.max(1) as f64,
        count: group.count(),
        max_ns: longest.first().map_or(0, |(lost, _)| *lost),
        waiter: party(facts, places, key.waiter, waiters.len(), &waiting),
        holder: key.holder.map(|side| party(facts, places, side, holders.len(), &in_calls(&group.holders))),
        or: others(facts, places, key, &group.or),
        evidence: group.evidence(),
        confidence: confidence(facts, key, group),
        because: because(facts, key, group, recorded.as_ref()),
        why: why(key.cause, holding).to_owned(),
        places: ranked_places(places, group.parts.iter().copied()),
        examples: longest
            .iter()
            .map(|(lost, stretch)| Example { start_ns: stretch.start(facts.trace), duration_ns: *lost })
            .collect(),
        fixes: fixes(key.cause, holding),
    }
}

/// How sure a finding is. Threads that an importer told apart by calls that overlap are two while they do;
/// at other times the one that was waited for may be the waiter itself.
fn confidence(facts: &Facts<'_>, key: &Key, group: &Group) -> Confidence {
    let overlaps = group.evidence() == Evidence::Timing;
    let inferred = facts.trace.meta.threads_inferred && key.holder.is_some() && !overlaps;
    group.confidence().max(if inferred { Confidence::Possible } else { Confidence::Certain })
}

/// What kept the waiter waiting, as far as it makes a difference to what helps.
fn holding(facts: &Facts<'_>, key: &Key, group: &Group, recorded: Option<&Recorded>) -> Holding {
    let class = |call: Option<CallId>| call.map_or(Class::Other, |call| facts.class(call));
    let waiter = class(group.parts.first().and_then(|(_, stretch)| stretch.call()));
    if recorded.is_some_and(Recorded::for_sharers) {
        return Holding::Sharers(wanted(facts, group, waiter));
    }
    if key.holder.is_none() && !matches!(key.waiter.doing, Doing::Lock(_)) {
        return Holding::Nobody(fetched(facts, group));
    }
    if key.across_gpus {
        return Holding::OtherGpu;
    }
    if key.holder.is_some_and(|side| side.copies_pageable()) {
        return Holding::PageableCopy(beside(facts, group, waiter));
    }
    let first = group.holders.first().copied();
    let holder = class(first);
    // What sets something up happens a few times, and then in slow calls.
    let often = group.in_short >= group.lost / 2 || group.count() >= OFTEN;
    match holder {
        Class::Allocate | Class::Release => Holding::Allocation,
        Class::Launch if !often && mostly_new(facts, &group.holders) => Holding::Setup,
        _ if holder.enqueues() && waiter.enqueues() && (often || facts.has_operations()) => {
            Holding::Submission
        }
        _ if matches!(key.waiter.doing, Doing::Lock(_)) => Holding::Unseen,
        Class::Load | Class::Create => Holding::Setup,
        Class::Copy { blocking: true } => Holding::Other(beside(facts, group, waiter)),
        _ if waiter == Class::Allocate || waiter == Class::Release => Holding::Other(Beside::Allocation),
        _ => Holding::Unseen,
    }
}

/// Whether most of some launches are the first of their kernel.
fn mostly_new(facts: &Facts<'_>, launches: &[CallId]) -> bool {
    let new = launches.iter().filter(|call| facts.new_kernel(**call).is_some()).count();
    new * 2 > launches.len()
}

/// What waits beside the holder.
fn beside(facts: &Facts<'_>, group: &Group, waiter: Class) -> Beside {
    match waiter {
        Class::Allocate | Class::Release => Beside::Allocation,
        _ if share_a_stream(facts, group) && !has_one_lock(facts) => Beside::SameStream,
        _ => Beside::Other,
    }
}

/// Whether the driver is known to be so old that a pageable copy keeps the whole context locked, whatever the stream: one of
/// 2018 does (seed 000), 580 does not (H200). Between them nobody measured.
fn has_one_lock(facts: &Facts<'_>) -> bool {
    let major = facts.trace.meta.driver.split('.').next().and_then(|major| major.parse::<u32>().ok());
    // A tracer may give CUDA's version in its place, as in 13.0.
    major.is_some_and(|major| (100..400).contains(&major))
}

/// The streams of some calls, each once, as far as they are known.
fn streams(facts: &Facts<'_>, calls: impl Iterator<Item = CallId>) -> Vec<StreamId> {
    let mut streams: Vec<_> = calls.filter_map(|call| facts.stream(call).some()).collect();
    streams.sort_unstable();
    streams.dedup();
    streams
}

fn waiting_calls(group: &Group) -> impl Iterator<Item = CallId> {
    group.parts.iter().filter_map(|(_, stretch)| stretch.call())
}

/// Whether a waiter and a holder submit to one stream.
fn share_a_stream(facts: &Facts<'_>, group: &Group) -> bool {
    let holding = streams(facts, group.holders.iter().copied());
    streams(facts, waiting_calls(group)).iter().any(|stream| holding.binary_search(stream).is_ok())
}

/// Largest copy that is one number: a complex one in double precision.
const SCALAR_BYTES: i64 = 16;

/// What the waiting calls get from the GPU.
fn fetched(facts: &Facts<'_>, group: &Group) -> Fetched {
    let scalar = |call: CallId| {
        facts
            .copied(call)
            .is_some_and(|copied| copied.kind.to_host() && (1..=SCALAR_BYTES).contains(&copied.bytes))
    };
    match group.count() > 0 && waiting_calls(group).all(scalar) {
        true => Fetched::Scalar,
        false => Fetched::Other,
    }
}

/// What the waiter wants a lock alone for, most of the time.
fn wanted(facts: &Facts<'_>, group: &Group, waiter: Class) -> Wanted {
    let is_first = |stretch: &Stretch| stretch.call().is_some_and(|call| facts.is_first_launch(call));
    let in_first = || group.parts.iter().filter(|(_, stretch)| is_first(stretch)).map(|(lost, _)| *lost);
    match waiter {
        Class::Allocate | Class::Release => Wanted::Allocation,
        Class::Launch if in_first().fold(0, Ns::saturating_add) > group.lost / 2 => Wanted::FirstLaunch,
        _ => Wanted::Other,
    }
}

/// The parts that lost most, longest first.
fn longest(group: &Group) -> Vec<(Ns, Stretch)> {
    let mut parts = group.parts.clone();
    parts.sort_by_key(|(lost, stretch)| (std::cmp::Reverse(*lost), *stretch));
    parts.truncate(EXAMPLES);
    parts
}

fn in_calls(calls: &[CallId]) -> Vec<Stretch> {
    calls.iter().copied().map(Stretch::Call).collect()
}

fn party(facts: &Facts<'_>, places: &Places, side: Side, threads: usize, stretches: &[Stretch]) -> Party {
    let trace = facts.trace;
    let thread = trace.threads.row(side.thread);
    let process = thread.process.some().map_or(0, |process| trace.processes.pid[process.index()]);
    let parts = stretches.iter().map(|stretch| (stretch.duration(trace), *stretch));
    Party {
        pid: process,
        tid: thread.tid,
        thread: match trace.text(thread.name) {
            "" => thread.tid.to_string(),
            name => name.to_owned(),
        },
        threads: threads as u64,
        call: match side.doing {
            Doing::Call(name, _) => trace.text(name).to_owned(),
            Doing::Lock(_) | Doing::Unseen => String::new(),
        },
        detail: describe(facts, stretches),
        places: ranked_places(places, parts),
    }
}

/// Other parties that fit as well, each thread and call once.
fn others(facts: &Facts<'_>, places: &Places, key: &Key, or: &[CallId]) -> Vec<Party> {
    let side = |call: CallId| Side::of(facts, Stretch::Call(call));
    let mut sides: Vec<Side> = or.iter().map(|call| side(*call)).collect();
    sides.sort();
    sides.dedup();
    sides.retain(|side| Some(*side) != key.holder);
    let of = |other: &Side| {
        let calls: Vec<_> = or.iter().copied().filter(|call| side(*call) == *other).collect();
        party(facts, places, *other, 1, &in_calls(&calls))
    };
    sides.iter().take(EXAMPLES).map(of).collect()
}

/// The source places of some calls, or waits outside calls, most time first.
fn ranked_places(places: &Places, parts: impl Iterator<Item = (Ns, Stretch)>) -> Vec<Place> {
    let mut time = FxHashMap::<PlaceId, Ns>::default();
    for (lost, stretch) in parts {
        if let Some(place) = places.of(stretch) {
            add(time.entry(place).or_default(), lost);
        }
    }
    let mut ranked: Vec<_> = time.into_iter().map(|(place, time)| (places.row(place), time)).collect();
    ranked.sort_by(|(a, a_time), (b, b_time)| b_time.cmp(a_time).then_with(|| a.cmp(b)));
    ranked.into_iter().take(PLACES).map(|(place, _)| place.clone()).collect()
}
