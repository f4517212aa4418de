//! `allocation`: allocating, pinning and freeing memory take time themselves.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::Facts;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::{PINNED_KEPT, POOL_ALLOCATOR};
use crate::{Cause, Confidence, Evidence};
use trace::CallId;
use waits::Class;

pub(super) static ABOUT: About = About {
    meaning: "allocating, pinning or freeing memory: the call's own work",
    brief: "memory is allocated, pinned or freed",
    bound: Bound::Driver,
    family: Family::Setup,
    nature: Nature::Lost,
    evidence: &[Evidence::Timing],
    fixes: &[POOL_ALLOCATOR, PINNED_KEPT],
    state: State::Rule(state),
};

fn state(_: &Grounds<'_>) -> Statement {
    Statement {
        because: sentence!["nothing in the trace made the calls wait"],
        why: "mapping, pinning and unmapping memory takes time in proportion to its size",
        fixes: vec![POOL_ALLOCATOR, PINNED_KEPT],
    }
}

/// Claims the rest of an allocating or freeing call, which waited for nothing in the trace. On an H200 pinning 64 MB takes
/// up to 52 ms, and freeing 256 MB of idle device memory 2.7 ms.
pub(crate) fn own(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if matches!(facts.class(call), Class::Allocate | Class::Release) {
        let reason = Reason::new(Cause::Allocation, Evidence::Timing, Confidence::Likely, Fact::None);
        parts.claim(facts.start(call), facts.end(call) - facts.usual(call), reason);
    }
}
