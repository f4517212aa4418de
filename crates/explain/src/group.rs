//! Parts of calls into findings: one for each waiter thread, call and cause, and holder thread
//! and call.

use crate::facts::Facts;
use crate::fixes::{fixes, why};
use crate::parts::{Fact, Holder, Part, Reason};
use crate::words::{because, describe};
use crate::{Cause, Class, Confidence, Evidence, Example, Finding, Party, Place, places};
use rustc_hash::FxHashMap;
use trace::{CallId, CopyKind, MemoryKind, Ns, Sym, ThreadId};

/// Examples that a finding shows.
const EXAMPLES: usize = 3;

/// Source places that a finding shows for each side.
const PLACES: usize = 3;

/// What kind of work a call asked for: calls of one name that copy different ways are apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Work {
    pub copy: CopyKind,
    pub src: MemoryKind,
    pub dst: MemoryKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Side {
    thread: ThreadId,
    name: Sym,
    work: Work,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    cause: Cause,
    waiter: Side,
    holder: Option<Side>,
}

/// All parts that belong to one finding.
#[derive(Default)]
pub(crate) struct Group {
    pub lost: Ns,
    pub count: u64,
    /// Each call's part: time lost and the call, in order of the calls.
    pub parts: Vec<(Ns, CallId)>,
    pub holders: Vec<CallId>,
    pub or: Vec<CallId>,
    pub facts: Vec<Fact>,
    evidence: FxHashMap<Evidence, Ns>,
    confidence: FxHashMap<Confidence, Ns>,
}

/// Collects parts into groups.
#[derive(Default)]
pub(crate) struct Groups(FxHashMap<Key, Group>);

impl Groups {
    /// Adds the parts that a call lost.
    pub fn add(&mut self, facts: &Facts<'_>, call: CallId, parts: Vec<Part>) {
        for part in parts {
            let Reason { cause, evidence, confidence, holder, or, fact } = part.reason;
            let key = Key { cause, waiter: side(facts, call), holder: holding_side(facts, holder) };
            let group = self.0.entry(key).or_default();
            group.lost = group.lost.saturating_add(part.lost);
            match group.parts.last_mut() {
                // Two parts of one call are one wait.
                Some((lost, last)) if *last == call => *lost += part.lost,
                _ => {
                    group.parts.push((part.lost, call));
                    group.count += 1;
                }
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

    /// The findings: most time lost first, unexplained ones last.
    pub fn findings(self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut groups: Vec<_> = self.0.into_iter().collect();
        groups.sort_by_key(|(key, group)| {
            (key.cause == Cause::Unexplained, std::cmp::Reverse(group.lost), *key)
        });
        let finding = |(at, (key, group)): (usize, (Key, Group))| finding(facts, at, &key, &group);
        groups.into_iter().enumerate().map(finding).collect()
    }
}

fn side(facts: &Facts<'_>, call: CallId) -> Side {
    Side { thread: facts.thread(call), name: facts.trace.calls.name[call.index()], work: work(facts, call) }
}

fn holding_side(facts: &Facts<'_>, holder: Holder) -> Option<Side> {
    match holder {
        Holder::Nobody => None,
        Holder::Call(call) => Some(side(facts, call)),
        Holder::Thread(thread) => Some(Side { thread, name: Sym::EMPTY, work: Work::default() }),
    }
}

fn work(facts: &Facts<'_>, call: CallId) -> Work {
    match facts.class(call) {
        Class::Copy { .. } => facts.copy(call).map_or(Work::default(), |copy| Work {
            copy: copy.kind,
            src: copy.src,
            dst: copy.dst,
        }),
        _ => Work::default(),
    }
}

fn finding(facts: &Facts<'_>, at: usize, key: &Key, group: &Group) -> Finding {
    let longest = longest(group);
    let waiters: Vec<CallId> = group.parts.iter().map(|(_, call)| *call).collect();
    let holder = key.holder.map(|side| party(facts, side, &group.holders));
    let by_pageable_copy =
        key.holder.is_some_and(|side| [side.work.src, side.work.dst].contains(&MemoryKind::Pageable));
    let by_allocation = group
        .holders
        .first()
        .is_some_and(|holder| matches!(facts.class(*holder), Class::Allocate | Class::Release));
    let span = facts.span(key.waiter.thread).max(1);
    Finding {
        id: format!("H{}", at + 1),
        cause: key.cause,
        lost_ns: group.lost,
        share: group.lost as f64 / span as f64,
        count: group.count,
        max_ns: longest.first().map_or(0, |(lost, _)| *lost),
        waiter: party(facts, key.waiter, &waiters),
        holder,
        or: others(facts, key, &group.or),
        evidence: most(&group.evidence).unwrap_or(Evidence::Timing),
        confidence: confidence(group),
        because: because(facts, key.cause, group),
        why: why(key.cause, by_pageable_copy).to_owned(),
        places: ranked_places(facts, &group.parts),
        examples: longest
            .iter()
            .map(|(lost, call)| Example { start_ns: facts.start(*call), duration_ns: *lost })
            .collect(),
        fixes: fixes(key.cause, by_pageable_copy, by_allocation),
    }
}

/// The parts that lost most, longest first.
fn longest(group: &Group) -> Vec<(Ns, CallId)> {
    let mut parts = group.parts.clone();
    parts.sort_by_key(|(lost, call)| (std::cmp::Reverse(*lost), *call));
    parts.truncate(EXAMPLES);
    parts
}

fn party(facts: &Facts<'_>, side: Side, calls: &[CallId]) -> Party {
    let trace = facts.trace;
    let thread = trace.threads.row(side.thread);
    let process = thread.process.some().map_or(0, |process| trace.processes.pid[process.index()]);
    let parts: Vec<_> = calls.iter().map(|call| (facts.duration(*call), *call)).collect();
    Party {
        pid: process,
        tid: thread.tid,
        thread: match trace.text(thread.name) {
            "" => thread.tid.to_string(),
            name => name.to_owned(),
        },
        call: trace.text(side.name).to_owned(),
        detail: describe(facts, calls),
        places: ranked_places(facts, &parts),
    }
}

/// Other parties that fit as well, each thread and call once.
fn others(facts: &Facts<'_>, key: &Key, or: &[CallId]) -> Vec<Party> {
    let mut sides: Vec<Side> = or.iter().map(|call| side(facts, *call)).collect();
    sides.sort();
    sides.dedup();
    sides.retain(|side| Some(*side) != key.holder);
    let of = |other: &Side| {
        let calls: Vec<_> = or.iter().copied().filter(|call| side(facts, *call) == *other).collect();
        party(facts, *other, &calls)
    };
    sides.iter().take(EXAMPLES).map(of).collect()
}

/// The source places of some calls, most time first.
fn ranked_places(facts: &Facts<'_>, parts: &[(Ns, CallId)]) -> Vec<Place> {
    let calls: Vec<CallId> = parts.iter().map(|(_, call)| *call).collect();
    let mut time = FxHashMap::<Place, Ns>::default();
    for ((lost, _), place) in parts.iter().zip(places(facts.trace, &calls)) {
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
    let coincidence = group.count < 3 && most(&group.evidence) == Some(Evidence::Timing);
    let tenth = group.lost / 10;
    if possible > 0 && possible >= tenth || (coincidence && !group.holders.is_empty()) {
        Confidence::Possible
    } else if possible.saturating_add(likely) > 0 && possible.saturating_add(likely) >= tenth {
        Confidence::Likely
    } else {
        Confidence::Certain
    }
}
