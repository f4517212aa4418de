//! `collective-wait`: a rank waits at a collective for a rank whose GPU still works. If that rank was late for a reason on the
//! host, the account has the reason, and not this cause. Of ranks that are not in the trace only the wait is known: as far as it varies, or
//! is longer than links within a machine explain.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    meaning: "a collective's kernel waits for another rank, whose GPU worked longer or began later",
    brief: "a collective waits for another rank",
    bound: Bound::Gpu,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Record, Evidence::Timing, Evidence::Sample],
    fixes: &[],
    state: State::Account {
        because: &[
            "the kernels of the collective ended together, and this rank's began before the last rank's",
            "kernels that exchange the same took longer than the shortest of them: the rest is time until the last rank began",
            "the thread was in a function of MPI's that waits for another rank",
        ],
        why: "no rank can go on in a collective before the last one has begun",
    },
};
