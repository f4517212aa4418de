//! `no-demand`: threads wait for what comes from outside.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    meaning: "a thread waits for what comes from outside the program: a connection, a request, an answer",
    brief: "nothing arrives from outside",
    bound: Bound::NoDemand,
    family: Family::Asleep,
    nature: Nature::Asked,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[],
    state: State::Account {
        because: &[
            "the thread slept in a system call that waits for connections, messages or events",
            "the profiler recorded a system call that waits for connections, messages or events",
        ],
        why: "there was nothing to do",
    },
};
