//! `blocking-launch`: launches wait for their own kernels, because somebody asked the driver for it.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::Facts;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::{At, Cause, Confidence, Effect, Evidence, Fix};
use trace::CallId;

const ASYNC_LAUNCHES: Fix = Fix {
    id: "async-launches",
    text: "unset CUDA_LAUNCH_BLOCKING; a debugger or a sanitizer may ask for the same",
    safety: "safe: the results are the same, and an error of a kernel shows at a later call",
    effect: Effect::Removal,
    at: At::Launches,
    forms: &[],
};

pub(super) static ABOUT: About = About {
    meaning: "each launch returns when its kernel is done: `CUDA_LAUNCH_BLOCKING=1`, or a debugger",
    brief: "each launch waits for its own kernel",
    bound: Bound::Host,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[ASYNC_LAUNCHES],
    state: State::Rule(state),
};

fn state(_: &Grounds<'_>) -> Statement {
    Statement {
        because: sentence!["nearly all launches of the process return after the end of their own kernels"],
        why: "with `CUDA_LAUNCH_BLOCKING=1`, and under a debugger, the driver waits for each kernel",
        fixes: vec![ASYNC_LAUNCHES],
    }
}

/// Claims the time for which a launch waits for its own work, in a process whose launches do.
pub(crate) fn waits(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if let Some(own) = facts.blocks_for(call) {
        let fact = Fact::Awaited(own);
        let reason = Reason::new(Cause::BlockingLaunch, Evidence::Record, Confidence::Certain, fact);
        parts.claim(facts.trace.ops.start[own.index()], facts.end(call), reason);
    }
}
