//! `data-loading`: the next batch is not there.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Fix};

pub(super) static ABOUT: About = About {
    meaning: "the next batch of a data loader is not there yet, or is made meanwhile",
    brief: "the data loader is waited for",
    bound: Bound::Host,
    family: Family::Host,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[LOADER_WORKERS],
    state: State::Account {
        because: &[
            "samples of the thread lie in a data loader",
            "the profiler marked a data loader around the time",
        ],
        why: "a step begins when its batch is there",
    },
};

const LOADER_WORKERS: Fix = Fix {
    id: "loader-workers",
    text: "make batches ahead of time, in processes of their own: more workers, or less work for each batch",
    safety: "safe if the order of random numbers may change; each worker takes memory and a processor",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![PyTorch: "loader-workers.pytorch.py", Jax: "loader-workers.jax.py"],
};
