//! Parts of calls, and waits outside them, into findings: one for each waiter thread, call and cause,
//! and holder thread and call.

use crate::facts::Facts;
use crate::fixes::{Holding, fixes, why};
use crate::fold::{Folded, fold};
use crate::loss::Loss;
use crate::parts::{Fact, Holder, Part, Reason};
use crate::places;
use crate::side::{Doing, Side};
use crate::stretch::Stretch;
use crate::words::{because, describe};
use crate::{Cause, Class, Confidence, Evidence, Example, Finding, Party, Place};
use rustc_hash::FxHashMap;
use trace::{CallId, Ns};

/// Examples that a finding shows.
const EXAMPLES: usize = 3;

/// So many waits of one kind are no first uses: a program of PyTorch's loads a few hundred kernels.
const OFTEN: u64 = 1000;

/// Source places that a finding shows for each side.
const PLACES: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub cause: Cause,
    pub waiter: Side,
    pub holder: Option<Side>,
}

/// All parts that belong to one finding.
#[derive(Default)]
pub(crate) struct Group {
    pub lost: Ns,
    /// The part of it that was lost in calls that are not slow themselves.
    pub in_short: Ns,
    /// Time lost and in which call, or wait outside calls; in order of these.
    pub parts: Vec<(Ns, Stretch)>,
    pub holders: Vec<CallId>,
    pub or: Vec<CallId>,
    pub facts: Vec<Fact>,
    /// Which of [`Groups`]'s losses these are, where they are kept.
    losses: Vec<u32>,
    evidence: FxHashMap<Evidence, Ns>,
    confidence: FxHashMap<Confidence, Ns>,
}

/// Collects parts into groups.
pub(crate) struct Groups {
    by_key: FxHashMap<Key, Group>,
    /// Every part by itself, if that is wanted.
    losses: Option<Vec<Loss>>,
}

impl Groups {
    pub fn new(keep_losses: bool) -> Groups {
        Groups { by_key: FxHashMap::default(), losses: keep_losses.then(Vec::new) }
    }

    /// Adds the parts that a call, or a wait outside calls, lost.
    pub fn add(&mut self, facts: &Facts<'_>, stretch: Stretch, parts: Vec<Part>) {
        let is_short = stretch.call().is_some_and(|call| !facts.is_slow(call));
        for part in parts {
            let loss = self.keep(facts, stretch, &part);
            let Reason { cause, evidence, confidence, holder, or, fact } = part.reason;
            let (waiter, holding) = (Side::of(facts, stretch), Side::holding(facts, holder));
            let key = Key { cause, waiter, holder: holding };
            let group = self.by_key.entry(key).or_default();
            group.losses.extend(loss);
            add(&mut group.lost, part.lost);
            if is_short {
                add(&mut group.in_short, part.lost);
            }
            match group.parts.last_mut() {
                // Two parts of one call are one wait.
                Some((lost, last)) if *last == stretch => *lost += part.lost,
                _ => group.parts.push((part.lost, stretch)),
            }
            if let Holder::Call(holder) = holder
                && group.holders.last() != Some(&holder)
            {
                group.holders.push(holder);
            }
            group.or.extend(or);
            group.facts.push(fact);
            add(group.evidence.entry(evidence).or_default(), part.lost);
            add(group.confidence.entry(confidence).or_default(), part.lost);
        }
    }

    /// Keeps a loss, if that is wanted and it has a cause; its number.
    fn keep(&mut self, facts: &Facts<'_>, stretch: Stretch, part: &Part) -> Option<u32> {
        let losses = self.losses.as_mut().filter(|_| part.reason.cause != Cause::Unexplained)?;
        losses.push(Loss::of(facts.trace, stretch, part));
        u32::try_from(losses.len() - 1).ok()
    }

    /// The findings: most time lost first, unexplained ones last, and whom a call kept waiting before
    /// what that call itself lost. With them what was kept of single losses.
    pub fn findings(self, facts: &Facts<'_>) -> (Vec<Finding>, Vec<Loss>) {
        let mut folded = fold(facts, self.by_key.into_iter().collect());
        folded.sort_by_key(|Folded { key, group, .. }| {
            (key.cause == Cause::Unexplained, std::cmp::Reverse(group.lost), *key)
        });
        victims_first(&mut folded);
        let mut losses = self.losses.unwrap_or_default();
        for (at, folded) in folded.iter().enumerate() {
            for loss in &folded.group.losses {
                losses[*loss as usize].finding = u32::try_from(at).ok();
            }
        }
        let finding = |(at, folded): (usize, &Folded)| finding(facts, at, folded);
        (folded.iter().enumerate().map(finding).collect(), losses)
    }
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

impl Group {
    /// Number of calls, or of waits outside calls, that lost time.
    pub fn count(&self) -> u64 {
        self.parts.len() as u64
    }

    /// What most of the lost time rests on.
    pub fn evidence(&self) -> Evidence {
        most(&self.evidence).unwrap_or(Evidence::Timing)
    }

    /// Takes in another group's parts.
    pub fn absorb(&mut self, other: Group) {
        add(&mut self.lost, other.lost);
        add(&mut self.in_short, other.in_short);
        self.parts.extend(other.parts);
        self.holders.extend(other.holders);
        self.or.extend(other.or);
        self.facts.extend(other.facts);
        self.losses.extend(other.losses);
        for (kind, weight) in other.evidence {
            add(self.evidence.entry(kind).or_default(), weight);
        }
        for (kind, weight) in other.confidence {
            add(self.confidence.entry(kind).or_default(), weight);
        }
    }

    /// Makes the parts of each call one again, after others were taken in.
    pub fn unite(&mut self) {
        self.parts.sort_by_key(|(_, stretch)| *stretch);
        self.parts.dedup_by(|later, first| {
            let same = later.1 == first.1;
            if same {
                add(&mut first.0, later.0);
            }
            same
        });
    }
}

fn finding(facts: &Facts<'_>, at: usize, folded: &Folded) -> Finding {
    let Folded { key, group, waiters, holders } = folded;
    let longest = longest(group);
    let waiting: Vec<_> = group.parts.iter().map(|(_, stretch)| *stretch).collect();
    let span: Ns = waiters.iter().map(|thread| facts.span(*thread)).fold(0, Ns::saturating_add);
    let holding = holding(facts, key, group);
    Finding {
        id: format!("H{}", at + 1),
        cause: key.cause,
        lost_ns: group.lost,
        share: group.lost as f64 / span.max(1) as f64,
        count: group.count(),
        max_ns: longest.first().map_or(0, |(lost, _)| *lost),
        waiter: party(facts, key.waiter, waiters.len(), &waiting),
        holder: key.holder.map(|side| party(facts, side, holders.len(), &in_calls(&group.holders))),
        or: others(facts, key, &group.or),
        evidence: group.evidence(),
        confidence: confidence(group),
        because: because(facts, key, group),
        why: why(key.cause, holding).to_owned(),
        places: ranked_places(facts, &group.parts),
        examples: longest
            .iter()
            .map(|(lost, stretch)| Example { start_ns: stretch.start(facts.trace), duration_ns: *lost })
            .collect(),
        fixes: fixes(key.cause, holding),
    }
}

/// What kept the waiter waiting, as far as it makes a difference to what helps.
fn holding(facts: &Facts<'_>, key: &Key, group: &Group) -> Holding {
    if key.holder.is_some_and(|side| side.copies_pageable()) {
        return Holding::PageableCopy;
    }
    let class = |call: Option<CallId>| call.map_or(Class::Other, |call| facts.class(call));
    let waiter = class(group.parts.first().and_then(|(_, stretch)| stretch.call()));
    let holder = class(group.holders.first().copied());
    // What sets something up happens a few times, and then in slow calls.
    let often = group.in_short >= group.lost / 2 || group.count() >= OFTEN;
    match holder {
        Class::Allocate | Class::Release => Holding::Allocation,
        _ if often && holder.enqueues() && waiter.enqueues() => Holding::Submission,
        _ if matches!(key.waiter.doing, Doing::Lock(_)) => Holding::Unseen,
        _ => Holding::Other,
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

fn party(facts: &Facts<'_>, side: Side, threads: usize, stretches: &[Stretch]) -> Party {
    let trace = facts.trace;
    let thread = trace.threads.row(side.thread);
    let process = thread.process.some().map_or(0, |process| trace.processes.pid[process.index()]);
    let parts: Vec<_> = stretches.iter().map(|stretch| (stretch.duration(trace), *stretch)).collect();
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
        places: ranked_places(facts, &parts),
    }
}

/// Other parties that fit as well, each thread and call once.
fn others(facts: &Facts<'_>, key: &Key, or: &[CallId]) -> Vec<Party> {
    let side = |call: CallId| Side::of(facts, Stretch::Call(call));
    let mut sides: Vec<Side> = or.iter().map(|call| side(*call)).collect();
    sides.sort();
    sides.dedup();
    sides.retain(|side| Some(*side) != key.holder);
    let of = |other: &Side| {
        let calls: Vec<_> = or.iter().copied().filter(|call| side(*call) == *other).collect();
        party(facts, *other, 1, &in_calls(&calls))
    };
    sides.iter().take(EXAMPLES).map(of).collect()
}

/// The source places of some calls, or waits outside calls, most time first.
fn ranked_places(facts: &Facts<'_>, parts: &[(Ns, Stretch)]) -> Vec<Place> {
    let stretches: Vec<Stretch> = parts.iter().map(|(_, stretch)| *stretch).collect();
    let mut time = FxHashMap::<Place, Ns>::default();
    for ((lost, _), place) in parts.iter().zip(places::of(facts.trace, &stretches)) {
        if let Some(place) = place {
            add(time.entry(place).or_default(), *lost);
        }
    }
    let mut ranked: Vec<_> = time.into_iter().collect();
    ranked.sort_by(|(a, a_time), (b, b_time)| b_time.cmp(a_time).then_with(|| a.cmp(b)));
    ranked.into_iter().take(PLACES).map(|(place, _)| place).collect()
}

/// Adds times of which hostile traces may hold more than an `i64` counts.
fn add(sum: &mut Ns, time: Ns) {
    *sum = sum.saturating_add(time);
}

/// What most of the lost time rests on.
fn most<K: Copy + Ord>(weights: &FxHashMap<K, Ns>) -> Option<K> {
    weights.iter().max_by_key(|(kind, weight)| (**weight, std::cmp::Reverse(**kind))).map(|(kind, _)| *kind)
}

/// The weakest confidence that a tenth or more of the lost time has; `possible` too where
/// timing alone speaks and only once or twice.
fn confidence(group: &Group) -> Confidence {
    let weight = |confidence| group.confidence.get(&confidence).copied().unwrap_or(0);
    let (possible, likely) = (weight(Confidence::Possible), weight(Confidence::Likely));
    let coincidence = group.count() < 3 && group.evidence() == Evidence::Timing;
    let tenth = group.lost / 10;
    if possible > 0 && possible >= tenth || (coincidence && !group.holders.is_empty()) {
        Confidence::Possible
    } else if possible.saturating_add(likely) > 0 && possible.saturating_add(likely) >= tenth {
        Confidence::Likely
    } else {
        Confidence::Certain
    }
}
