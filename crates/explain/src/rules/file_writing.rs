//! `file-writing`: files are written.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Fix};

pub(super) static ABOUT: About = About {
    meaning: "a thread writes files: a checkpoint, a log",
    brief: "files are written",
    bound: Bound::Host,
    family: Family::Host,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[ASYNC_SAVE],
    state: State::Account {
        because: &[
            "samples of the thread lie in functions or system calls that write files",
            "the profiler recorded system calls that write files",
        ],
        why: "a checkpoint is copied from the GPU and written before the next step begins",
    },
};

const ASYNC_SAVE: Fix = Fix {
    id: "async-save",
    text: "copy what is saved to host memory, and write it in another thread or process, or less often",
    safety: "safe if the copy is complete before the next step changes it; takes host memory for the copy",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![PyTorch: "async-save.pytorch.py", Jax: "async-save.jax.py"],
};
