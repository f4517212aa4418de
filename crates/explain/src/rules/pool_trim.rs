//! `pool-trim`: at each synchronization a memory pool gives its unused memory back.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::Facts;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::forms::forms;
use crate::{At, Cause, Class, Confidence, Effect, Evidence, Fix};
use trace::CallId;

const RELEASE_THRESHOLD: Fix = Fix {
    id: "release-threshold",
    text: "let the pool keep its memory: raise its release threshold (cudaMemPoolAttrReleaseThreshold)",
    safety: "safe; the memory stays with the process until the pool is trimmed or destroyed",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![Cuda: "release-threshold.cuda.cu"],
};

pub(super) static ABOUT: About = About {
    meaning: "a synchronization goes on after the GPU is done: a memory pool gives its unused memory back",
    brief: "memory pools give memory back at synchronizations",
    bound: Bound::Driver,
    family: Family::Setup,
    nature: Nature::Lost,
    evidence: &[Evidence::Timing],
    fixes: &[RELEASE_THRESHOLD],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    let because = match grounds.waiter() {
        Class::Sync => {
            "memory was freed into a pool before, and the calls went on after all known work of the GPU was done"
        }
        _ => {
            "memory was freed into a pool, and a synchronization came before the calls asked for memory again"
        }
    };
    Statement {
        because: sentence![because],
        why: "a pool whose release threshold is 0, as it is at first, gives all unused memory back at each synchronization",
        fixes: vec![RELEASE_THRESHOLD],
    }
}

/// Claims the time of an allocation from a pool that kept nothing.
pub(crate) fn refill(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if facts.refills_pool(call) {
        let reason = Reason::new(Cause::PoolTrim, Evidence::Timing, Confidence::Likely, Fact::None);
        parts.claim(facts.start(call), facts.end(call), reason);
    }
}
