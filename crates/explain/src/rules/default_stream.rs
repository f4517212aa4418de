//! `default-stream`: work of the legacy default stream and of blocking streams waits for each other.

use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::rules::forms::forms;
use crate::{At, Effect, Evidence, Fix};

const NON_BLOCKING_STREAM: Fix = Fix {
    id: "non-blocking-stream",
    text: "keep work out of the legacy default stream: name a stream (cudaMemsetAsync), make streams non-blocking, or build with \
           --default-stream per-thread",
    safety: "safe if the work of these streams needs no order, or has it by events",
    effect: Effect::Change("non-blocking-stream"),
    at: At::Waiter,
    forms: forms![Cuda: "non-blocking-stream.cuda.cu"],
};

pub(super) static ABOUT: About = About {
    meaning: "an operation waits for the legacy default stream, or is in it and waits for other streams",
    brief: "work waits for the legacy default stream, or in it for other streams",
    bound: Bound::Driver,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Timing],
    fixes: &[NON_BLOCKING_STREAM],
    state: State::Account {
        because: &[
            "operations of the default stream and of the others started when those of the other side had ended",
        ],
        why: "the legacy default stream waits for all blocking streams of its context, and they wait for it",
    },
};
