//! `not-recorded`: the trace does not say.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    meaning: "the trace does not say what the thread did",
    brief: "the trace does not say why",
    bound: Bound::Unknown,
    family: Family::Unknown,
    nature: Nature::Unknown,
    evidence: &[Evidence::Timing],
    fixes: &[],
    state: State::Account {
        because: &["the trace has no records of that time"],
        why: "`holdup record` samples threads and records locks and the scheduler's numbers",
    },
};
