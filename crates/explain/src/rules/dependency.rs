//! `dependency`: operations wait for something beside their GPU.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    meaning: "an operation was asked for, and waited while its GPU was idle: for an event, a host function, another GPU",
    brief: "work waits for an event, a host function or another GPU",
    bound: Bound::Host,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[],
    state: State::Account {
        because: &["the operation had been asked for before, and the GPU was idle"],
        why: "work in a stream starts when all before it is done",
    },
};
