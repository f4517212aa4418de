//! `feeding`: inputs are copied and converted on the host.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Fix};

pub(super) static ABOUT: About = About {
    meaning: "inputs are converted, transposed or staged on the host before they are copied to the GPU",
    brief: "inputs are staged on the host",
    bound: Bound::Host,
    family: Family::Memory,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[DEVICE_FEED],
    state: State::Account {
        because: &[
            "samples of threads lie in functions that stage inputs for the GPU",
            "the profiler marked functions that stage inputs for the GPU",
        ],
        why: "the copy to the GPU starts when the host has laid the input out in memory that the GPU reads",
    },
};

const DEVICE_FEED: Fix = Fix {
    id: "device-feed",
    text: "keep inputs on the GPU, or feed them a step ahead, from pinned memory and as the GPU takes them",
    safety: "safe if the GPU has memory for one more batch",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![
        PyTorch: "device-feed.pytorch.py",
        CuPy: "device-feed.cupy.py",
        Jax: "device-feed.jax.py",
        Cuda: "device-feed.cuda.cu",
    ],
};
