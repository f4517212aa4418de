//! Groups of lost time, one per finding: by cause, the waiter's thread and call, and the holder's thread and call.

use crate::analysis::parts::{Fact, Holder, Part, Reason};
use crate::facts::Facts;
use crate::facts::stretch::Stretch;
use crate::result::loss::Loss;
use crate::result::side::Side;
use crate::{Cause, Confidence, Evidence};
use rustc_hash::FxHashMap;
use trace::{CallId, Ns};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub cause: Cause,
    pub waiter: Side,
    pub holder: Option<Side>,
    /// Whether the two are known to work on different GPUs.
    pub across_gpus: bool,
}

impl Key {
    /// The key of a part of a call, or of a wait outside calls.
    pub fn of(facts: &Facts<'_>, stretch: Stretch, reason: &Reason) -> Key {
        Key {
            cause: reason.cause,
            waiter: Side::of(facts, stretch),
            holder: Side::holding(facts, reason.holder),
            across_gpus: across_gpus(facts, stretch, reason.holder),
        }
    }
}

/// All parts that belong to one finding.
#[derive(Default)]
pub(crate) struct Group {
    pub lost: Ns,
    /// The part of `lost` in calls that are not slow, ns.
    pub in_short: Ns,
    /// Lost time, ns, with its call or its wait outside calls; in their order.
    pub parts: Vec<(Ns, Stretch)>,
    pub holders: Vec<CallId>,
    pub or: Vec<CallId>,
    pub facts: Vec<Fact>,
    /// Indexes into the losses of [`Groups`], if those are kept.
    pub losses: Vec<u32>,
    evidence: FxHashMap<Evidence, Ns>,
    confidence: FxHashMap<Confidence, Ns>,
}

/// Collects parts into groups.
pub(crate) struct Groups {
    by_key: FxHashMap<Key, Group>,
    /// Every part by itself; `None` if losses are not kept.
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
            let key = Key::of(facts, stretch, &part.reason);
            let Reason { evidence, confidence, holder, or, fact, .. } = part.reason;
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

    /// Adds the time of parts to a group; which parts, it does not know then.
    pub fn add_sum(&mut self, key: Key, evidence: Evidence, lost: Ns) {
        let group = self.by_key.entry(key).or_default();
        add(&mut group.lost, lost);
        add(group.evidence.entry(evidence).or_default(), lost);
    }

    /// Stores losses that no finding counts.
    pub fn keep_all(&mut self, facts: &Facts<'_>, stretch: Stretch, parts: &[Part]) {
        for part in parts {
            self.keep(facts, stretch, part);
        }
    }

    /// Stores a loss and returns its index; `None` if losses are not kept or the cause is unknown.
    fn keep(&mut self, facts: &Facts<'_>, stretch: Stretch, part: &Part) -> Option<u32> {
        let losses = self.losses.as_mut().filter(|_| part.reason.cause != Cause::Unexplained)?;
        losses.push(Loss::of(facts.trace, stretch, part));
        u32::try_from(losses.len() - 1).ok()
    }

    /// All groups, in no order, and the stored losses.
    pub fn done(self) -> (Vec<(Key, Group)>, Vec<Loss>) {
        (self.by_key.into_iter().collect(), self.losses.unwrap_or_default())
    }
}

/// Whether a waiter and its holder are in calls that work on different GPUs.
fn across_gpus(facts: &Facts<'_>, waiter: Stretch, holder: Holder) -> bool {
    let (Some(waiter), Holder::Call(holder)) = (waiter.call(), holder) else { return false };
    let (waiting, holding) = (facts.device(waiter), facts.device(holder));
    waiting.is_some() && holding.is_some() && waiting != holding
}

impl Group {
    /// Number of calls, or of waits outside calls, that lost time.
    pub fn count(&self) -> u64 {
        self.parts.len() as u64
    }

    /// All stretches of the group: those of the waiters, and the calls that were waited for.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch> {
        let calls = self.holders.iter().chain(&self.or).copied().map(Stretch::Call);
        self.parts.iter().map(|(_, stretch)| *stretch).chain(calls)
    }

    /// The evidence for most of the lost time.
    pub fn evidence(&self) -> Evidence {
        most(&self.evidence).unwrap_or(Evidence::Timing)
    }

    /// The lowest confidence of at least a tenth of the lost time; also `possible` if timing is the only evidence and there
    /// are fewer than three waits.
    pub fn confidence(&self) -> Confidence {
        let weight = |confidence| self.confidence.get(&confidence).copied().unwrap_or(0);
        let (possible, likely) = (weight(Confidence::Possible), weight(Confidence::Likely));
        let coincidence = self.count() < 3 && self.evidence() == Evidence::Timing;
        let tenth = self.lost / 10;
        if possible > 0 && possible >= tenth || (coincidence && !self.holders.is_empty()) {
            Confidence::Possible
        } else if possible.saturating_add(likely) > 0 && possible.saturating_add(likely) >= tenth {
            Confidence::Likely
        } else {
            Confidence::Certain
        }
    }

    /// Adds another group's parts.
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

    /// Merges the parts of each call into one, after other groups were added.
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

/// Adds a time, saturating: in a hostile trace times may add up to more than an `i64` holds.
pub(crate) fn add(sum: &mut Ns, time: Ns) {
    *sum = sum.saturating_add(time);
}

/// The kind with the most lost time.
fn most<K: Copy + Ord>(weights: &FxHashMap<K, Ns>) -> Option<K> {
    weights.iter().max_by_key(|(kind, weight)| (**weight, std::cmp::Reverse(**kind))).map(|(kind, _)| *kind)
}
