//! The slip of each operation: how much earlier it could have started, and which rule delayed it.
//!
//! An operation starts when it is issued, the work before it in its stream is done, and its engine is free. It could have
//! started as much earlier as the tightest of these conditions allows. The delay comes from the last condition to be met, if
//! that was late itself, or from a rule of `late.rs`, if the operation was ready.

use super::OverlapRule;
use super::host::Host;
use super::late::Late;
use super::queue::{Item, Queue};
use rustc_hash::FxHashMap;
use trace::{CallId, Ns};
use waits::NEXT_OPERATION;

/// Most time between the end of an operation and that of a synchronization that waited for it, ns; or a seventh of the
/// synchronization's own time.
const NOTICE: Ns = 50_000;

/// Most idle times of an engine that are tried for an operation that could have run earlier.
const MOST_SLOTS: usize = 64;

const RULES: usize = OverlapRule::ALL.len();

/// The origin of a late start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Root {
    /// The operation that was late.
    pub late: u32,
    pub behind: RootBehind,
}

/// Operation or call for which an operation waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RootBehind {
    Item(u32),
    Call(CallId),
}

/// Time that an operation could have started earlier, by rule.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Slip {
    pub ns: [Ns; RULES],
    pub root: [Option<Root>; RULES],
}

impl Slip {
    /// Nothing: most operations start when they can.
    pub const NONE: Slip = Slip { ns: [0; RULES], root: [None; RULES] };

    pub fn total(&self) -> Ns {
        self.ns.iter().fold(0, |sum: Ns, ns| sum.saturating_add(*ns))
    }

    fn add(mut self, rule: OverlapRule, ns: Ns, root: Root) -> Slip {
        let at = rule as usize;
        self.ns[at] = self.ns[at].saturating_add(ns.max(0));
        self.root[at] = Some(root);
        self
    }

    /// At most `most` ns of it; the first rules have priority.
    fn at_most(mut self, most: Ns) -> Slip {
        let mut left = most.max(0);
        for ns in &mut self.ns {
            *ns = (*ns).min(left);
            left -= *ns;
        }
        self
    }

    /// The part of this beyond `before`, at most `most` ns.
    pub fn beyond(mut self, before: &Slip, most: Ns) -> Slip {
        let more = (self.total() - before.total()).clamp(0, most);
        for (ns, before) in self.ns.iter_mut().zip(before.ns) {
            *ns = (*ns - before).max(0);
        }
        self.at_most(more)
    }
}

/// The slip of each item; successive items often share one.
pub(super) struct AllSlips {
    of: Vec<u32>,
    different: Vec<Slip>,
}

impl AllSlips {
    fn new(items: usize) -> AllSlips {
        AllSlips { of: Vec::with_capacity(items), different: vec![Slip::NONE] }
    }

    /// The slip of an item.
    pub fn of(&self, item: u32) -> &Slip {
        &self.different[self.of[item as usize] as usize]
    }

    fn push(&mut self, slip: Slip) {
        let last = self.different.len() - 1;
        let at = if slip.total() == 0 {
            0
        } else if self.different[last] == slip {
            last
        } else {
            self.different.push(slip);
            last + 1
        };
        self.of.push(at as u32);
    }
}

/// An item that was ready and did not start.
#[derive(Clone, Copy)]
pub(super) struct Waited {
    pub item: u32,
    pub ready: Ns,
    pub late: Late,
}

/// The slip of each item of a queue, and the items that waited although they were ready, both in the items' order.
pub(super) fn slips(queue: &Queue, host: &Host<'_>, late: &FxHashMap<u32, Late>) -> (AllSlips, Vec<Waited>) {
    let mut slips = Slips { queue, host, late, slips: AllSlips::new(queue.items.len()), last: [None; 3] };
    let mut waited = Vec::new();
    for (at, item) in (0..).zip(&queue.items) {
        let (slip, late) = slips.of(at, item);
        slips.slips.push(slip);
        waited.extend(late);
        if let Some(unit) = queue.unit(item) {
            let last = &mut slips.last[unit];
            if last.is_none_or(|last| queue.item(last).end <= item.end) {
                *last = Some(at);
            }
        }
    }
    (slips.slips, waited)
}

struct Slips<'a> {
    queue: &'a Queue,
    host: &'a Host<'a>,
    late: &'a FxHashMap<u32, Late>,
    slips: AllSlips,
    /// For each unit, the item that ends last so far.
    last: [Option<u32>; 3],
}

/// A condition that an operation must wait for.
#[derive(Clone, Copy)]
struct Bound<'a> {
    /// The time at which it was met, ns.
    until: Ns,
    /// How much earlier it could have been met.
    slip: &'a Slip,
}

impl Bound<'_> {
    /// How much earlier than `start` this bound lets an operation start, ns.
    fn room(&self, start: Ns) -> Ns {
        start.saturating_sub(self.until).max(0).saturating_add(self.slip.total())
    }

    /// The part of a slip that this bound allows: what both have, and as much of the rest as there is room for.
    fn leaves(&self, slip: Slip, start: Ns) -> Slip {
        let mut both = slip;
        for (ns, own) in both.ns.iter_mut().zip(self.slip.ns) {
            *ns = (*ns).min(own);
        }
        let rest = slip.beyond(&both, self.room(start).saturating_sub(both.total()).max(0));
        for (ns, rest) in both.ns.iter_mut().zip(rest.ns) {
            *ns = ns.saturating_add(rest);
        }
        both
    }
}

/// All conditions of an operation.
struct Bounds<'a> {
    stream: Option<Bound<'a>>,
    asked: Option<Bound<'a>>,
    engine: Option<Bound<'a>>,
}

impl Slips<'_> {
    /// The slip of an item, and that it waited if it was ready.
    fn of(&self, at: u32, item: &Item) -> (Slip, Option<Waited>) {
        let start = item.start;
        let stream = item.before.map(|before| self.done(before, self.queue.item(before).done, start));
        // The call began earlier, if its thread had waited less before.
        let kept = self.kept(at, item);
        let slip = kept.as_ref().unwrap_or(&Slip::NONE);
        let asked = item.issue.map(|issue| Bound { until: issue.min(start), slip });
        let engine = self.queue.unit(item).and_then(|unit| self.last[unit]);
        let engine = engine.map(|last| self.done(last, self.queue.item(last).end, start));
        let Some(critical) = stream.into_iter().chain(asked).max_by_key(|bound| bound.until) else {
            return (Slip::NONE, None);
        };
        let bounds = Bounds { stream, asked, engine };
        if let Some(late @ Late { rule, behind }) = self.late.get(&at).copied() {
            let root = Root { late: at, behind: RootBehind::Item(behind) };
            let slip = critical.slip.add(rule, start.saturating_sub(critical.until), root);
            let waited = Waited { item: at, ready: critical.until, late };
            return (self.within(item, slip, start, &bounds), Some(waited));
        }
        let is_next = |engine: &Bound<'_>| {
            start.saturating_sub(engine.until) <= NEXT_OPERATION && engine.until > critical.until
        };
        let (slip, from) = match engine.filter(is_next) {
            Some(engine) => (engine.slip, start),
            // The cost of starting an operation is not lost.
            None => (critical.slip, critical.until),
        };
        let slip = if slip.total() == 0 { Slip::NONE } else { self.within(item, *slip, from, &bounds) };
        (slip, None)
    }

    /// The bound that another item is done: at `until`, at the latest when this one starts.
    fn done(&self, other: u32, until: Ns, start: Ns) -> Bound<'_> {
        Bound { until: until.min(start), slip: self.slips.of(other) }
    }

    /// How much earlier an item would have been asked for, if its thread had waited less before.
    fn kept(&self, at: u32, item: &Item) -> Option<Slip> {
        let kept = self.host.kept(item.call)?;
        let most = kept.end.saturating_sub(kept.start);
        let notice = NOTICE.max(most / 7);
        // Without an operation that ends when the wait does, the thread waited for something else.
        let awaited =
            self.queue.ending(kept.end.saturating_sub(notice), kept.end).find(|other| *other < at)?;
        let root = Root { late: at, behind: RootBehind::Call(kept.call) };
        Some(self.slips.of(awaited).add(kept.rule, most, root))
    }

    /// The part of a slip that all bounds of an item allow; `start` is the time from which none of them delayed it.
    fn within(&self, item: &Item, slip: Slip, start: Ns, bounds: &Bounds<'_>) -> Slip {
        let tightest = bounds.stream.into_iter().chain(bounds.asked).min_by_key(|bound| bound.room(start));
        let slip = tightest.map_or(slip, |bound| bound.leaves(slip, start));
        match bounds.engine.filter(|engine| engine.room(start) < slip.total()) {
            None => slip,
            Some(engine) => match self.slot(item, slip.total()) {
                Some(slot) if slot > engine.room(start) => slip.at_most(slot),
                _ => engine.leaves(slip, start),
            },
        }
    }

    /// How much earlier, up to `most` ns, the item's engine was idle for long enough.
    fn slot(&self, item: &Item, most: Ns) -> Option<Ns> {
        let earliest = item.start.saturating_sub(most);
        let length = item.end.saturating_sub(item.start);
        let blocks = &self.queue.units[self.queue.unit(item)?];
        let begun = blocks.partition_point(|(start, _)| *start < item.start);
        let slots = (1..begun).rev().map(|at| (blocks[at - 1].1.max(earliest), blocks[at].0));
        let slots = slots.take(MOST_SLOTS).take_while(|(_, to)| *to > earliest);
        slots
            .filter(|(from, to)| to.saturating_sub(*from) >= length)
            .last()
            .map(|(from, _)| item.start.saturating_sub(from))
    }
}
