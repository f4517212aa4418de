//! `blocked`: threads sleep in system calls.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    meaning: "a thread sleeps in a system call: a timer, input or output, or a futex of unknown purpose",
    brief: "the thread sleeps in a system call",
    bound: Bound::Host,
    family: Family::Asleep,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[],
    state: State::Account {
        because: &[
            "the scheduler's numbers show that the thread slept outside calls",
            "the profiler recorded that the thread slept, or a system call around the time",
        ],
        why: "a thread that sleeps makes no calls",
    },
};
