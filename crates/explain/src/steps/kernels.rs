//! Steps that nothing marks: kernels of a stream that come back in the same order. A kernel with the same number of operations
//! from each of its runs to the next begins a step.

use super::{FEWEST, Found, Outliers, StepSource, asked, between};
use crate::facts::Facts;
use rustc_hash::FxHashMap;
use trace::{Ns, OpId, OpKind, Sym, ThreadId};

/// Fewest operations of a step: a loop around one kernel is no step.
const SHORTEST: usize = 4;

/// How many of ten steps must have the same number of operations.
const ALIKE: usize = 9;

/// How many of ten operations must be in such steps.
const COVERED: usize = 8;

/// When a kernel ran: the number of operations before it.
#[derive(Default)]
struct Runs {
    count: usize,
    last: usize,
    /// The number of operations from one run to the next that was seen most, by Boyer and Moore's vote, and its votes.
    period: usize,
    votes: usize,
}

pub(super) fn find(facts: &Facts<'_>, (from, to): (Ns, Ns)) -> Option<Found> {
    let trace = facts.trace;
    let is_in = |op: &OpId| from <= trace.ops.start[op.index()] && trace.ops.end[op.index()] <= to;
    let mut ops = of_busiest_stream(facts);
    ops.retain(is_in);
    let anchor = anchor(facts, &ops)?;
    let anchors: Vec<OpId> = ops.into_iter().filter(|op| kernel(facts, *op) == Some(anchor)).collect();
    let thread = thread(facts, &anchors)?;
    let starts: Vec<Ns> = anchors.iter().map(|op| asked(trace, *op)).collect();
    let times = between(&starts);
    let found = times.len() >= FEWEST && starts.is_sorted() && Outliers::of(&times).are_alike();
    let name = trace.text(anchor).to_owned();
    found.then_some(Found { name, source: StepSource::Kernels, thread, times, names: Vec::new() })
}

/// The operations of the stream with most of them, by start.
fn of_busiest_stream(facts: &Facts<'_>) -> Vec<OpId> {
    let ops = &facts.trace.ops;
    let mut counts = vec![0usize; facts.trace.streams.len()];
    ops.stream.iter().filter_map(|stream| stream.some()).for_each(|stream| counts[stream.index()] += 1);
    let streams = facts.trace.streams.ids();
    let Some(busiest) = streams.max_by_key(|stream| (counts[stream.index()], std::cmp::Reverse(*stream)))
    else {
        return Vec::new();
    };
    facts.in_stream(busiest).to_vec()
}

fn kernel(facts: &Facts<'_>, op: OpId) -> Option<Sym> {
    let ops = &facts.trace.ops;
    (ops.kind[op.index()] == OpKind::Kernel).then(|| ops.name[op.index()])
}

/// The thread that launched all of them.
fn thread(facts: &Facts<'_>, ops: &[OpId]) -> Option<ThreadId> {
    let of = |op: &OpId| Some(facts.thread(facts.trace.ops.call[op.index()].some()?));
    let thread = of(ops.first()?)?;
    ops.iter().all(|op| of(op) == Some(thread)).then_some(thread)
}

/// The kernel with which steps begin: of those with regular runs the one with the longest period.
fn anchor(facts: &Facts<'_>, ops: &[OpId]) -> Option<Sym> {
    let mut runs = FxHashMap::<Sym, Runs>::default();
    for (at, op) in ops.iter().enumerate() {
        let Some(name) = kernel(facts, *op) else { continue };
        let runs = runs.entry(name).or_default();
        if runs.count > 0 {
            let period = at - runs.last;
            match (period == runs.period, runs.votes) {
                (true, _) => runs.votes += 1,
                (false, 0) => (runs.period, runs.votes) = (period, 1),
                (false, _) => runs.votes -= 1,
            }
        }
        (runs.count, runs.last) = (runs.count + 1, at);
    }
    runs.retain(|_, runs| {
        let steps = runs.count.saturating_sub(1);
        let covered = steps * runs.period * 10 >= ops.len() * COVERED;
        steps >= FEWEST && runs.period >= SHORTEST && covered
    });
    regular(facts, ops, &runs)
}

/// Of some kernels the one with the longest period that nearly all of its runs keep to; the first to run if several do.
fn regular(facts: &Facts<'_>, ops: &[OpId], runs: &FxHashMap<Sym, Runs>) -> Option<Sym> {
    let mut seen = FxHashMap::<Sym, (usize, usize, usize)>::default();
    for (at, op) in ops.iter().enumerate() {
        let Some((name, runs)) = kernel(facts, *op).and_then(|name| Some((name, runs.get(&name)?))) else {
            continue;
        };
        let (_, last, kept) = seen.entry(name).or_insert((at, at, 0));
        *kept += usize::from(at - *last == runs.period);
        *last = at;
    }
    let keeps = |(name, (_, _, kept)): &(&Sym, &(usize, usize, usize))| {
        runs.get(name).is_some_and(|runs| kept * 10 >= (runs.count - 1) * ALIKE)
    };
    let kept = seen.iter().filter(keeps);
    kept.max_by_key(|(name, (first, ..))| (runs.get(name).map(|runs| runs.period), std::cmp::Reverse(*first)))
        .map(|(name, _)| *name)
}
