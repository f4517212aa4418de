//! `connection-aliasing`: a kernel waits for another stream's kernel in the same hardware queue.

use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Evidence, Fix};

const MORE_CONNECTIONS: Fix = Fix {
    id: "more-connections",
    text: "set CUDA_DEVICE_MAX_CONNECTIONS to the number of streams, at most 32, or use fewer streams",
    safety: "safe; each one more takes 15 ms when the program starts, and 8 when it ends (H100)",
    effect: Effect::Change("more-connections"),
    at: At::Waiter,
    forms: forms![
        : "more-connections.sh",
    ],
};

pub(super) static ABOUT: About = About {
    meaning: "a kernel that is ready waits for another stream's kernel, because both streams share a hardware queue",
    brief: "kernels wait for streams that share their hardware queue",
    bound: Bound::Driver,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Timing],
    fixes: &[MORE_CONNECTIONS],
    state: State::Account {
        because: &[
            "kernels of the two streams started in the order of their launches, each just after the other's",
        ],
        why: "streams share hardware queues (8 by default), and each queue starts its kernels in order",
    },
};
