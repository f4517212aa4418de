//! `own-work`: what calls cost when nothing is in their way.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::fixes::{BATCHED_COPIES, FOREACH, GRAPH};

pub(super) static ABOUT: About = About {
    meaning: "what a call costs when nothing is in its way",
    brief: "CUDA calls take their usual time",
    bound: Bound::Host,
    family: Family::Calls,
    nature: Nature::Lost,
    evidence: &[Evidence::Timing],
    fixes: &[FOREACH, BATCHED_COPIES, GRAPH],
    state: State::Account {
        because: &["nothing in the trace made the calls wait"],
        why: "each launch costs the host some microseconds; a GPU that is faster waits for the next",
    },
};
