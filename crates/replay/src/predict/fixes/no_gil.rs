//! Threads do not wait for Python's lock.

use super::alone::usual;
use super::{Fix, Scene};
use crate::{Recovered, StepOf};
use rustc_hash::{FxHashMap, FxHashSet};
use sim::RecordedStep;
use trace::{LockLayer, Ns, Sym};

pub(super) const FIX: Fix = Fix {
    id: "no-gil",
    text: "run Python threads as processes, or use a free-threaded build of Python",
    safety: "safe if the threads share no Python objects that they change",
    apply,
};

pub(super) fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    if !scene.trace.waits.layer.contains(&LockLayer::Interpreter) {
        return 0;
    }
    stay_warm(scene, to);
    let locks = locks(scene);
    let mut changed = 0;
    for (row, steps) in scene.base.steps.iter().enumerate() {
        for (at, step) in steps.iter().enumerate() {
            let waits = is_wait(scene, step);
            let acquires =
                || lock_of(&scene.base.recorded.threads[row][at]).is_some_and(|lock| locks.contains(&lock));
            if waits || *step == StepOf::Takes && acquires() {
                to.recorded.threads[row][at] = RecordedStep::Host(0);
                changed += usize::from(waits);
            }
        }
    }
    changed
}

/// The locks of interpreters: a thread that acquired one without a wait would wait for others now.
fn locks(scene: &Scene<'_>) -> FxHashSet<u32> {
    let threads = scene.base.steps.iter().zip(&scene.base.recorded.threads);
    let steps = threads.flat_map(|(of, steps)| of.iter().zip(steps));
    steps.filter(|(of, _)| is_wait(scene, of)).filter_map(|(_, step)| lock_of(step)).collect()
}

fn lock_of(step: &RecordedStep) -> Option<u32> {
    match step {
        RecordedStep::Acquire { lock, .. } => Some(*lock),
        _ => None,
    }
}

fn is_wait(scene: &Scene<'_>, step: &StepOf) -> bool {
    let StepOf::Wait(wait) = step else { return false };
    wait.some().is_some_and(|wait| scene.trace.waits.layer[wait.index()] == LockLayer::Interpreter)
}

/// Time that a wait adds at most to the code after it, ns.
const COLD: Ns = 40_000;

/// A thread that slept finds the processor's caches cold: pauses with a wait take longer than those between calls of the same names
/// without one, the wait itself apart (H200: 307 instead of 276 µs, and 30 instead of 20). Without the wait, they take what those take.
fn stay_warm(scene: &Scene<'_>, to: &mut Recovered) {
    let pauses = pauses(scene);
    let [mut with, mut without] = [(); 2].map(|()| FxHashMap::<[Sym; 2], Vec<Ns>>::default());
    for pause in &pauses {
        let like_it = if pause.waits > 0 { &mut with } else { &mut without };
        like_it.entry(pause.between).or_default().push(pause.ns);
    }
    let (with, without) = (usual(with), usual(without));
    for Pause { row, first_wait, end, between, waits, .. } in
        pauses.into_iter().filter(|pause| pause.waits > 0)
    {
        let (Some(with), Some(without)) = (with.get(&between), without.get(&between)) else { continue };
        let steps = &mut to.recorded.threads[row][first_wait..end];
        // Another change has removed the wait, and what it adds.
        if steps[0] == RecordedStep::Host(0) {
            continue;
        }
        let mut left = (with - without).clamp(0, COLD * waits);
        for ns in steps.iter_mut().filter_map(RecordedStep::host_mut) {
            let taken = left.min(*ns);
            (*ns, left) = (*ns - taken, left - taken);
        }
    }
}

/// The time of a thread between two calls.
struct Pause {
    row: usize,
    /// Its steps from its first wait for the lock on.
    first_wait: usize,
    end: usize,
    /// The names of the calls.
    between: [Sym; 2],
    /// How often the thread waits for the lock in it.
    waits: Ns,
    /// Time that it takes besides waits, ns.
    ns: Ns,
}

fn pauses(scene: &Scene<'_>) -> Vec<Pause> {
    let mut pauses = Vec::new();
    for (row, steps) in scene.base.steps.iter().enumerate() {
        let mut open: Option<Pause> = None;
        for (at, step) in steps.iter().enumerate() {
            if let StepOf::Call(call) = step {
                let name = scene.trace.calls.name[call.index()];
                let next = Pause { row, first_wait: 0, end: 0, between: [name; 2], waits: 0, ns: 0 };
                if let Some(pause) = open.replace(next) {
                    pauses.push(Pause { end: at, between: [pause.between[0], name], ..pause });
                }
            } else if let Some(pause) = &mut open {
                if is_wait(scene, step) {
                    pause.first_wait = if pause.waits == 0 { at } else { pause.first_wait };
                    pause.waits += 1;
                } else if let (StepOf::Outside, RecordedStep::Host(ns)) =
                    (step, &scene.base.recorded.threads[row][at])
                {
                    pause.ns += ns;
                }
            }
        }
    }
    pauses
}
