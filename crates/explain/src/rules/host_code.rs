//! `host-code`: threads run code outside CUDA calls: the program's own, or a library's.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::fixes::{BATCHED_COPIES, FOREACH, GRAPH};

pub(super) static ABOUT: About = About {
    meaning: "a thread runs code of the program's or of a library, outside CUDA calls",
    brief: "host code runs, outside CUDA calls",
    bound: Bound::Host,
    family: Family::Host,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record, Evidence::Timing],
    fixes: &[FOREACH, BATCHED_COPIES, GRAPH],
    state: State::Account {
        because: &[
            "the scheduler's numbers show that the thread ran; samples show where",
            "the profiler recorded that the thread ran, or marked operators and functions around the time",
            "the thread went from one call to the next within 50 µs, too soon to have slept",
        ],
        why: "the GPU gets its next work when this code is done",
    },
};
