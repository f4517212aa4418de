//! First uses come before the program's work.

use super::loading::{LEAST, loading};
use super::{Fix, Scene};
use crate::Recovered;
use explain::Cause;
use rustc_hash::FxHashMap;
use sim::{CallOf, RecordedStep};
use trace::{CallId, Ns};

pub(super) const FIX: Fix = Fix {
    id: "warm-up",
    text: "move first uses before the program's critical phase: warm up every kernel and library call",
    safety: "costs start-up time; CUDA_MODULE_LOADING=EAGER by itself made stalls six times longer in one case",
    apply,
};

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
    let pauses = loading(scene, |call| first.contains_key(&call));
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
