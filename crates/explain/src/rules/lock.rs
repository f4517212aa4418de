//! `lock`: threads wait for each other outside CUDA.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    meaning: "a thread waits for a lock, a queue or another thread of the program",
    brief: "threads wait for a lock, a queue or each other",
    bound: Bound::Host,
    family: Family::Lock,
    nature: Nature::Lost,
    evidence: &[Evidence::Lock, Evidence::Sample, Evidence::Timing],
    fixes: &[],
    state: State::Account {
        because: &[
            "the waits were recorded, with who held the lock or ended the wait",
            "samples of the thread lie in functions that wait for other threads",
            "the waits were recorded; who held the lock or ended the wait follows from who got it last, or was awake",
        ],
        why: "a thread that waits for another one makes no calls",
    },
};
