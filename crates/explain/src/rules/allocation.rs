//! `allocation`: allocating, pinning and freeing memory take time themselves.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::Facts;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::{KEPT_OBJECT, PARALLEL_PINNING, PINNED_KEPT, POOL_ALLOCATOR};
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, Ns};
use waits::Class;

pub(super) static ABOUT: About = About {
    meaning: "allocating, pinning or freeing memory: the call's own work",
    brief: "memory is allocated, pinned or freed",
    bound: Bound::Driver,
    family: Family::Setup,
    nature: Nature::Lost,
    evidence: &[Evidence::Timing],
    fixes: &[POOL_ALLOCATOR, PINNED_KEPT, PARALLEL_PINNING, KEPT_OBJECT],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    // Memory from a pool is no unified memory.
    let is_unified =
        |(_, name): (_, &str)| name.contains("MallocManaged") || name.contains("MemAllocManaged");
    let of_device =
        if grounds.facts.trace.strings.iter().any(is_unified) { None } else { Some(POOL_ALLOCATOR) };
    let is_large = grounds.group.count() == 1 && grounds.group.lost >= LARGE;
    let of_pinned = if is_large { PARALLEL_PINNING } else { PINNED_KEPT };
    Statement {
        because: sentence!["nothing in the trace made the calls wait"],
        why: "mapping, pinning and unmapping memory takes time in proportion to its size",
        fixes: of_device.into_iter().chain([of_pinned]).collect(),
    }
}

/// Time in one call from which on memory that is allocated once is worth a faster way to do that, ns: a choice.
const LARGE: Ns = 500_000_000;

/// Claims the rest of an allocating or freeing call, which waited for nothing in the trace. On an H200 pinning 64 MB takes
/// up to 52 ms, and freeing 256 MB of idle device memory 2.7 ms.
pub(crate) fn own(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if matches!(facts.class(call), Class::Allocate | Class::Release) {
        let reason = Reason::new(Cause::Allocation, Evidence::Timing, Confidence::Likely, Fact::None);
        parts.claim(facts.start(call), facts.end(call) - facts.usual(call), reason);
    }
}
