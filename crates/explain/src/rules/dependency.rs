//! `dependency`: operations wait for something beside their GPU.

use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Evidence, Fix};

pub(crate) const NEEDED_EVENT: Fix = Fix {
    id: "needed-event",
    text: "wait for the event of the work that is needed, recorded right after it, and for nothing issued later",
    safety: "safe if the event is recorded after the last write to what is read",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![
        PyTorch: "needed-event.pytorch.py",
        CuPy: "needed-event.cupy.py",
        Cuda: "needed-event.cuda.cu",
    ],
};

pub(super) static ABOUT: About = About {
    meaning: "an operation was asked for, and waited: for an event of another stream, a host function, another GPU",
    brief: "work waits for an event, a host function or another GPU",
    bound: Bound::Host,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[NEEDED_EVENT],
    state: State::Account {
        because: &[
            "the operations had been asked for before, and nothing of their own stream was left to do",
        ],
        why: "work in a stream starts when all before it is done",
    },
};
