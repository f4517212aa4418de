//! `garbage-collection`: an interpreter looks for unused objects.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Fix};

pub(super) static ABOUT: About = About {
    meaning: "an interpreter looks for objects that nobody uses",
    brief: "garbage is collected",
    bound: Bound::Host,
    family: Family::Host,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[GC_FREEZE],
    state: State::Account {
        because: &["samples of the thread lie in the collector", "the profiler recorded the collector"],
        why: "the interpreter stops the thread, and all others, while the collector walks through the objects",
    },
};

const GC_FREEZE: Fix = Fix {
    id: "gc-freeze",
    text: "freeze what lives long, and collect seldom, where the GPU has work",
    safety: "safe if the program makes few circles of objects: they stay until the next collection",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![PyTorch CuPy Jax Python: "gc-freeze.py"],
};
