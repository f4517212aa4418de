//! First uses come before the program's work.

use super::{Fix, Scene};
use crate::{Recovered, StepOf};
use explain::{Cause, Class, Place, place_of_stack};
use rustc_hash::FxHashMap;
use sim::{CallOf, RecordedStep};
use trace::{CallId, Ns, StackId, ThreadId};

pub(super) const FIX: Fix = Fix {
    id: "warm-up",
    text: "move first uses before the program's critical phase: warm up every kernel and library call",
    safety: "costs start-up time; CUDA_MODULE_LOADING=EAGER by itself made stalls six times longer in one case",
    apply,
};

/// Shorter first uses stay where they are, ns.
const LEAST: Ns = 100_000;

/// Shorter pauses before a library's first calls stay where they are, ns.
const LEAST_PAUSE: Ns = 1_000_000;

/// The line of a pause is looked for in so many steps after it.
const SOON: usize = 64;

/// The time of first uses moves to the start of their thread, where no other call waits for them: calls, and pauses in which a library is
/// loaded.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let mut first: FxHashMap<CallId, Ns> = FxHashMap::default();
    for part in explain::call_parts(scene.trace, LEAST) {
        if part.cause == Cause::FirstUse {
            *first.entry(part.call).or_default() += part.end - part.start;
        }
    }
    let mut moved: FxHashMap<usize, Ns> = FxHashMap::default();
    for at in scene.calls() {
        let Some(ns) = first.get(&at.id).copied() else { continue };
        let Some(call) = to.call_mut(at) else { continue };
        let mut rest = ns;
        for part in [&mut call.before_ns, &mut call.held_ns, &mut call.after_ns] {
            let taken = rest.min(*part);
            (*part, rest) = (*part - taken, rest - taken);
        }
        *moved.entry(at.row).or_default() += ns - rest;
    }
    let pauses = loading(scene);
    for (row, at) in &pauses {
        if let RecordedStep::Host(ns) = &mut to.recorded.threads[*row][*at] {
            *moved.entry(*row).or_default() += std::mem::take(ns);
        }
    }
    for (row, ns) in &moved {
        // A thread may begin with what takes no time: a wait, or the end of another one's.
        let mut steps = to.recorded.threads[*row].iter_mut();
        let at_start = steps.find_map(|step| match step {
            RecordedStep::Host(ns) | RecordedStep::Call(CallOf { before_ns: ns, .. }) => Some(ns),
            _ => None,
        });
        at_start.into_iter().for_each(|at_start| *at_start += ns);
    }
    to.lets_pass(scene, |_, number| {
        scene.holder(number).is_some_and(|holder| first.contains_key(&holder.id))
    });
    first.len() + pauses.len()
}

/// The pauses in which a library is loaded, by thread and step: they end with a call that sets something up, and most of their samples are
/// at the line that made this call.
fn loading(scene: &Scene<'_>) -> Vec<(usize, usize)> {
    let trace = scene.trace;
    let mut samples: FxHashMap<ThreadId, Vec<(Ns, StackId)>> = FxHashMap::default();
    for at in 0..trace.samples.len() {
        let sample = (trace.samples.at[at], trace.samples.stack[at]);
        samples.entry(trace.samples.thread[at]).or_default().push(sample);
    }
    samples.values_mut().for_each(|samples| samples.sort_unstable());
    let line =
        |stack: StackId| -> Option<Place> { place_of_stack(trace, stack).filter(|place| place.line > 0) };
    let is_loading = |thread: ThreadId, from: Ns, call: CallId, there: StackId| -> bool {
        let (Some(there), Some(samples)) = (line(there), samples.get(&thread)) else { return false };
        let until = trace.calls.start[call.index()];
        let [first, end] = [from, until].map(|moment| samples.partition_point(|(at, _)| *at < moment));
        let same = |(_, stack): &&(Ns, StackId)| {
            line(*stack).is_some_and(|place| place.line == there.line && place.file == there.file)
        };
        2 * samples[first..end].iter().filter(same).count() > end - first
    };
    let sets_up = |call: CallId| match scene.class(call) {
        Class::Load | Class::Create => true,
        _ => scene.name(call) == "cuInit",
    };
    let mut found = Vec::new();
    for (row, steps) in scene.base.steps.iter().enumerate() {
        let Some(thread) = scene.base.threads[row] else { continue };
        for (at, pair) in steps.windows(2).enumerate() {
            let [StepOf::Outside, StepOf::Call(call)] = *pair else { continue };
            let RecordedStep::Host(ns) = scene.base.recorded.threads[row][at] else { continue };
            if ns < LEAST_PAUSE || !sets_up(call) {
                continue;
            }
            // The quick calls of a library that begins have no stack.
            let mut stacks = steps[at + 1..].iter().take(SOON).filter_map(|step| match step {
                StepOf::Call(call) => trace.calls.stack[call.index()].some(),
                _ => None,
            });
            let there = stacks.next().unwrap_or(StackId::NONE);
            let from = scene.base.begins[row][at] + scene.base.start;
            if is_loading(thread, from, call, there) {
                found.push((row, at));
            }
        }
    }
    found
}
