//! `copy-engine-busy`: a copy waits for another stream's copy that uses its engine.

use crate::analysis::grounds::Grounds;
use crate::facts::{CopyFacts, Facts};
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::forms::forms;
use crate::{At, Effect, Evidence, Fix};
use trace::OpId;

pub(crate) const ISSUE_ORDER: Fix = Fix {
    id: "issue-order",
    text: "issue copies of one direction so that none waits behind another stream's larger one",
    safety: "safe across streams that do not depend on each other",
    effect: Effect::Change("issue-order"),
    at: At::Copies,
    forms: forms![
        PyTorch: "issue-order.pytorch.py",
        CuPy: "issue-order.cupy.py",
        Cuda: "issue-order.cuda.cu",
    ],
};

pub(super) static ABOUT: About = About {
    meaning: "a copy waits for another stream's copy in the same direction",
    brief: "copies wait for copies in the same direction",
    bound: Bound::Copies,
    family: Family::Memory,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[ISSUE_ORDER],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    Statement {
        because: grounds.awaited("each copy starts when another stream's copy in the same direction ends"),
        why: "one copy engine serves a direction; a copy waits for the one before it",
        fixes: vec![ISSUE_ORDER],
    }
}

/// Whether `other` uses the engine of `copy`: that of its direction, or the only one.
pub(crate) fn shares_engine(facts: &Facts<'_>, copy: &CopyFacts, other: OpId) -> bool {
    let trace = facts.trace;
    let device = trace.device_of_stream(trace.ops.stream[other.index()]);
    let engines = device.some().map_or(0, |device| trace.devices.copy_engines[device.index()]);
    engines == 1 || trace.ops.copy[other.index()] == copy.what.kind
}
