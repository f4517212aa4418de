//! Threads do not wait for Python's lock.

use super::{Fix, Scene};
use crate::{Recovered, StepOf};
use sim::RecordedStep;
use trace::LockLayer;

pub(super) const FIX: Fix = Fix {
    id: "no-gil",
    text: "run Python threads as processes, or use a free-threaded build of Python",
    safety: "safe if the threads share no Python objects that they change",
    apply,
};

pub(super) fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let mut changed = 0;
    for (row, steps) in scene.base.steps.iter().enumerate() {
        for (at, step) in steps.iter().enumerate() {
            let StepOf::Wait(wait) = step else { continue };
            let layer = wait.some().map(|wait| scene.trace.waits.layer[wait.index()]);
            if layer == Some(LockLayer::Interpreter) {
                to.recorded.threads[row][at] = RecordedStep::Host(0);
                changed += 1;
            }
        }
    }
    changed
}
