//! `launch-latency`: the time from a launch to its start.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::fixes::{BATCHED_COPIES, GRAPH};

pub(super) static ABOUT: About = About {
    meaning: "from the return of the call that asked for an operation to its start on an idle GPU",
    brief: "launches take their time to start",
    bound: Bound::Host,
    family: Family::Calls,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[BATCHED_COPIES, GRAPH],
    state: State::Account {
        because: &["the GPU was idle when the call returned"],
        why: "each piece of work takes some microseconds to reach the GPU",
    },
};
