//! Steps of several threads that do the same side by side, as those of a server do: what repeats is found in the order in which each of
//! them launches, one thread's launches after the other's.

use super::builds::Builds;
use super::found::{FEWEST, Found, FoundStep, StepSource, between};
use super::kernels::{Busiest, COVERED, anchor, call, kernel};
use crate::facts::Facts;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use trace::{CallId, Ns, OpId, Sym, ThreadId};

/// The operations of each thread, as it asked for them.
type ByThread = BTreeMap<ThreadId, Vec<OpId>>;

/// Finds the steps of the threads of the busiest process on its device, if two or more launch the same kernels.
pub(super) fn find(facts: &Facts<'_>, window: (Ns, Ns), busiest: &Busiest, builds: &Builds) -> Option<Found> {
    let of_threads = by_thread(facts, window, busiest, builds);
    let ops: Vec<OpId> = of_threads.values().flatten().copied().collect();
    let anchor = anchor(facts, &ops)?;
    let mut alike = of_threads;
    alike.retain(|_, ops| ops.iter().any(|op| kernel(facts, *op) == Some(anchor)));
    if alike.len() < 2 || !are_alike(facts, &alike, ops.len()) {
        return None;
    }
    let of_thread = |(thread, ops): (&ThreadId, &Vec<OpId>)| steps(facts, *thread, ops, anchor);
    let mut steps: Vec<FoundStep> = alike.iter().flat_map(of_thread).collect();
    steps.sort_by_key(|step| (step.start, step.thread));
    let alone = warm_up(&steps);
    steps.drain(..alone);
    let name = facts.trace.text(anchor).to_owned();
    let thread = *alike.iter().max_by_key(|(thread, ops)| (ops.len(), std::cmp::Reverse(**thread)))?.0;
    let found = Found { warm_up: alone, ..Found::new(name, StepSource::Threads, thread, steps) };
    (found.steps.len() >= FEWEST).then_some(found)
}

fn by_thread(facts: &Facts<'_>, (from, to): (Ns, Ns), busiest: &Busiest, builds: &Builds) -> ByThread {
    let trace = facts.trace;
    let of = |stream| (trace.device_of_stream(stream), trace.process_of_stream(stream));
    let mut of_threads = ByThread::new();
    for op in trace.ops.ids() {
        let (at, stream) = (op.index(), trace.ops.stream[op.index()]);
        let is_its = of(stream) == (busiest.device, busiest.process) && !builds.hold(trace, op);
        let is_in = from <= trace.ops.start[at] && trace.ops.end[at] <= to;
        if let (true, Some(call)) = (is_its && is_in, call(facts, op).some()) {
            of_threads.entry(facts.thread(call)).or_default().push(op);
        }
    }
    for ops in of_threads.values_mut() {
        ops.sort_by_key(|op| (facts.start(call(facts, *op)), *op));
    }
    of_threads
}

/// Whether nearly all operations of a process are of kernels that at least half of some threads launch. Threads that share the work of a
/// step, as one that trains and the one that goes backward, have kernels of their own.
fn are_alike(facts: &Facts<'_>, threads: &ByThread, operations: usize) -> bool {
    let mut launching = FxHashMap::<Sym, (usize, usize)>::default();
    for ops in threads.values() {
        let mut own = FxHashSet::default();
        for name in ops.iter().map(|op| facts.trace.ops.name[op.index()]) {
            let (threads, count) = launching.entry(name).or_default();
            *threads += usize::from(own.insert(name));
            *count += 1;
        }
    }
    let common = launching.values().filter(|(of, _)| of * 2 >= threads.len() && *of > 1);
    common.map(|(_, count)| count).sum::<usize>() * 10 >= operations * COVERED
}

/// Number of the first steps, if one thread does them before any other one begins, and they are few: it warms up for the others.
fn warm_up(steps: &[FoundStep]) -> usize {
    let Some(first) = steps.first() else { return 0 };
    let alone = steps.iter().take_while(|step| step.thread == first.thread).count();
    let is_all = steps[alone..].iter().all(|step| step.thread != first.thread);
    if is_all && alone * 10 <= steps.len() { alone } else { 0 }
}

/// A thread's steps, each from where a kernel ran to where it ran next; the last one until all that it asked for is done.
fn steps(facts: &Facts<'_>, thread: ThreadId, ops: &[OpId], anchor: Sym) -> Vec<FoundStep> {
    let trace = facts.trace;
    let begins = ops.iter().filter(|op| kernel(facts, **op) == Some(anchor));
    let mut begun: Vec<_> = begins.map(|op| (trace.ops.start[op.index()], call(facts, *op))).collect();
    let done = ops.iter().map(|op| trace.ops.end[op.index()].max(facts.end(call(facts, *op)))).max();
    begun.extend(done.map(|done| (done, CallId::NONE)));
    let mut steps = between(thread, &begun);
    steps.iter_mut().take(1).for_each(|first| first.is_first = true);
    steps
}
