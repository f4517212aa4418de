//! `time-slicing`: a kernel waits for the turn of its context.

use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Evidence, Fix};

const MPS: Fix = Fix {
    id: "mps",
    text: "start the MPS daemon: kernels of several processes then run at once",
    safety: "safe if the processes trust each other: a fault of one ends all of them",
    effect: Effect::Change("mps"),
    at: At::Waiter,
    forms: forms![
        : "mps.sh",
    ],
};

pub(super) static ABOUT: About = About {
    meaning: "a kernel waits, or takes longer, while the GPU runs another process's kernels",
    brief: "kernels wait for another process's turn",
    bound: Bound::Gpu,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Timing],
    fixes: &[MPS],
    state: State::Account {
        because: &[
            "kernels of two contexts started in turns, with the time of a switch between them, or took longer while another process's ran; or \
             kernels that had been asked for waited, and nothing in the trace is what they waited for",
        ],
        why: "without MPS a GPU runs the kernels of one process at a time, and processes take turns",
    },
};
