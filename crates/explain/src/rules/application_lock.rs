//! `application-lock`: a thread waits for a lock of a library above the driver. `analysis/recorded_waits.rs` finds it.

use super::driver_lock::Situation;
use crate::Evidence;
use crate::analysis::grounds::Grounds;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::POOL_ALLOCATOR;

pub(super) static ABOUT: About = About {
    meaning: "a thread waits for a lock of a library above the driver",
    brief: "threads wait for a lock of a library",
    bound: Bound::Host,
    family: Family::Lock,
    nature: Nature::Lost,
    evidence: &[Evidence::Lock],
    fixes: &[POOL_ALLOCATOR],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    Statement {
        because: grounds.recorded().unwrap_or_default(),
        why: "the lock is the library's own, not the driver's",
        // Any such lock is held only briefly if no thread allocates or frees under it.
        fixes: match Situation::of(grounds) {
            Situation::Allocation => vec![POOL_ALLOCATOR],
            Situation::PageableCopy(_) | Situation::Submission | Situation::Shared(_) => Vec::new(),
            Situation::OtherGpu | Situation::Setup | Situation::Unseen => Vec::new(),
            Situation::Other(_) | Situation::NoHolder => Vec::new(),
        },
    }
}
