//! `host-code`: threads run code of their own.

use crate::Evidence;
use crate::cause::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    id: "host-code",
    meaning: "a thread runs the program's own code, outside CUDA calls",
    brief: "the program's own code runs",
    bound: Bound::Host,
    family: Family::Host,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[],
    state: State::Account {
        because: &[
            "the scheduler's numbers show that the thread ran; samples show where",
            "the profiler recorded that the thread ran, or marked operators and functions around the time",
        ],
        why: "the GPU gets its next work when this code is done",
    },
};
