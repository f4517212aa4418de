//! `gil`: threads take turns at Python's lock.

use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Evidence, Fix};

pub(super) static ABOUT: About = About {
    meaning: "a thread waits for Python's global interpreter lock",
    brief: "threads wait for Python's lock (GIL)",
    bound: Bound::Host,
    family: Family::Lock,
    nature: Nature::Lost,
    evidence: &[Evidence::Lock, Evidence::Sample, Evidence::Timing],
    fixes: &[NO_GIL],
    state: State::Account {
        because: &[
            "the waits for the interpreter's lock and its holders were recorded",
            "samples of the thread lie in functions that wait for the interpreter's lock",
            "several threads were in Python's code at once, and none of them in what it calls: one of them ran",
        ],
        why: "one thread at a time runs Python; a thread that waits for the lock makes no calls",
    },
};

/// The image server of four threads waits 18 % of its threads' time, 45 % once its copies are mended (H200).
const NO_GIL: Fix = Fix {
    id: "no-gil",
    text: "run the threads as processes, under MPS if they share a GPU; or a Python without the lock (3.13t and later)",
    safety: "processes share no Python objects; without the lock every extension must support it",
    effect: Effect::Change("no-gil"),
    at: At::Waiter,
    forms: forms![
        PyTorch CuPy Python: "processes.py",
    ],
};
