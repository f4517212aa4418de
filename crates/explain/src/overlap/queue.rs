//! The operations of one device in the order in which they ran, with the operation before each in its stream.

use super::host::Host;
use trace::{CallId, Ns, OpId, StreamId, Trace};
use waits::{Ability, Engine, done_before_signal};

/// Half-open intervals that neither touch nor overlap, by start.
pub(super) type Blocks = Vec<(Ns, Ns)>;

/// Overlap of copies of both directions that proves two copy engines, ns: with one engine a trace's times at most touch.
const AT_ONCE: Ns = 10_000;

/// An operation.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub op: OpId,
    pub start: Ns,
    pub end: Ns,
    pub engine: Engine,
    pub stream: StreamId,
    /// The operation before it in its stream.
    pub before: Option<u32>,
    /// The outermost call that issued it; `NONE` if the trace has none.
    pub call: CallId,
    /// Start of that call, ns.
    pub issue: Option<Ns>,
    /// The time at which it was done, ns: before its recorded end if it signalled together with others.
    pub done: Ns,
}

/// The operations of a device.
pub(super) struct Queue {
    pub ability: Ability,
    /// By start.
    pub items: Vec<Item>,
    /// Items by end.
    pub by_end: Vec<u32>,
    /// The times at which each engine was busy.
    pub engines: [Blocks; Engine::ALL.len()],
    /// For each index into `items`, the earliest issue from there on, and the earliest one of another stream.
    next_issues: Vec<[(Ns, StreamId); 2]>,
    /// The times at which each separate engine was busy, numbered as by [`Ability::unit`].
    pub units: [Blocks; 3],
}

impl Queue {
    pub fn new(trace: &Trace, ops: &[OpId], mut ability: Ability) -> Queue {
        let (starts, ends) = (&trace.ops.start, &trace.ops.end);
        let order = sorted(ops.iter().map(|op| (starts[op.index()], ends[op.index()], *op)));
        let mut items: Vec<Item> = order.into_iter().map(|(.., op)| item(trace, op)).collect();
        chain(&mut items, trace.streams.len());
        let by_end = sorted((0..).zip(&items).map(|(at, item): (u32, _)| (item.end, at)));
        let by_end = by_end.into_iter().map(|(_, at)| at).collect();
        let engines = busy(&items);
        if ability.copy_engines.is_none() {
            ability.both_seen =
                length(&common(&engines[Engine::CopyIn.bit()], &engines[Engine::CopyOut.bit()])) > AT_ONCE;
        }
        let units = [0, 1, 2].map(|unit| {
            let separate = Engine::ALL.into_iter().filter(|engine| *engine != Engine::Other);
            let of_unit = separate.filter(|engine| ability.unit(*engine) == unit);
            of_unit.fold(Blocks::new(), |blocks, engine| either(&blocks, &engines[engine.bit()]))
        });
        Queue { ability, items, by_end, engines, next_issues: Vec::new(), units }
    }

    /// Adds the call that issued each operation, and its start.
    pub fn issued(&mut self, host: &Host<'_>) {
        for item in &mut self.items {
            item.call = host.asked(item.op);
            item.issue = item.call.some().map(|call| host.start(call));
        }
        self.next_issues = next_issues(&self.items);
        if self.ability.signals_together() {
            let ops: Vec<OpId> = self.items.iter().map(|item| item.op).collect();
            let done = done_before_signal(host.index.trace, &ops);
            self.items
                .iter_mut()
                .for_each(|item| item.done = done.get(&item.op).map_or(item.end, |done| done.at));
        }
    }

    pub fn item(&self, at: u32) -> &Item {
        &self.items[at as usize]
    }

    /// Whether an item after `at` was issued before `time` into another stream.
    pub fn others_were_asked(&self, at: u32, stream: StreamId, time: Ns) -> bool {
        let later = self.next_issues.get(at as usize + 1);
        later.is_some_and(|next| next.iter().any(|(issue, other)| *issue < time && *other != stream))
    }

    pub fn unit(&self, item: &Item) -> Option<usize> {
        (item.engine != Engine::Other).then(|| self.ability.unit(item.engine))
    }

    /// Items that end within `[from, to]`, the last one first.
    pub fn ending(&self, from: Ns, to: Ns) -> impl Iterator<Item = u32> + '_ {
        let end = |at: &u32| self.item(*at).end;
        let until = self.by_end.partition_point(|at| end(at) <= to);
        self.by_end[..until].iter().rev().copied().take_while(move |at| end(at) >= from)
    }
}

/// Sorts keys whose last part identifies the item: keys are cheaper to move than items. Traces have long sorted runs, which a stable
/// sort merges.
fn sorted<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<K> {
    let mut keys: Vec<K> = keys.collect();
    keys.sort();
    keys
}

fn item(trace: &Trace, op: OpId) -> Item {
    let (ops, at) = (&trace.ops, op.index());
    Item {
        op,
        start: ops.start[at],
        end: ops.end[at],
        engine: Engine::of(ops.kind[at], ops.copy[at]),
        stream: ops.stream[at],
        before: None,
        call: CallId::NONE,
        issue: None,
        done: ops.end[at],
    }
}

/// Finds the operation before each one in its stream.
fn chain(items: &mut [Item], streams: usize) {
    let mut last: Vec<Option<u32>> = vec![None; streams];
    for (at, item) in (0..).zip(items) {
        if let Some(stream) = item.stream.some() {
            item.before = last[stream.index()].replace(at);
        }
    }
}

fn next_issues(items: &[Item]) -> Vec<[(Ns, StreamId); 2]> {
    let mut next = [(Ns::MAX, StreamId::NONE); 2];
    let earlier = items.iter().rev().map(|item| {
        let own = (item.issue.unwrap_or(item.start), item.stream);
        if own.1 == next[0].1 {
            next[0] = own.min(next[0]);
        } else if own.0 < next[0].0 {
            next = [own, next[0]];
        } else if own.0 < next[1].0 {
            next[1] = own;
        }
        next
    });
    let mut all: Vec<_> = earlier.collect();
    all.reverse();
    all
}

/// The times at which each engine was busy, by its bit.
fn busy(items: &[Item]) -> [Blocks; Engine::ALL.len()] {
    let mut engines: [Blocks; Engine::ALL.len()] = Default::default();
    for item in items.iter().filter(|item| item.start < item.end) {
        let blocks = &mut engines[item.engine.bit()];
        match blocks.last_mut() {
            Some((_, end)) if item.start <= *end => *end = item.end.max(*end),
            _ => blocks.push((item.start, item.end)),
        }
    }
    engines
}

/// The times at which both were busy.
pub(super) fn common(a: &Blocks, b: &Blocks) -> Blocks {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut both = Blocks::new();
    while let (Some((from_a, to_a)), Some((from_b, to_b))) = (a.peek(), b.peek()) {
        let (from, to) = (*from_a.max(from_b), *to_a.min(to_b));
        if from < to {
            both.push((from, to));
        }
        if to_a <= to_b {
            a.next()
        } else {
            b.next()
        };
    }
    both
}

/// The times at which either was busy.
pub(super) fn either(a: &Blocks, b: &Blocks) -> Blocks {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b.clone() } else { a.clone() };
    }
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    let mut merged = Blocks::new();
    loop {
        let from_a = a.peek().is_some_and(|next| b.peek().is_none_or(|other| next <= other));
        let Some((from, to)) = (if from_a { a.next() } else { b.next() }) else { return merged };
        match merged.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => merged.push((from, to)),
        }
    }
}

/// The sum of some blocks, ns.
pub(super) fn length(blocks: &Blocks) -> Ns {
    blocks.iter().fold(0, |sum: Ns, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
}
