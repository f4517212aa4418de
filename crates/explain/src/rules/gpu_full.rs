//! `gpu-full`: a kernel waits because others leave no room.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    meaning: "a kernel that is ready waits because running kernels fill the GPU (estimated from their grids)",
    brief: "kernels wait because others fill the GPU",
    bound: Bound::Gpu,
    family: Family::Sync,
    nature: Nature::Asked,
    evidence: &[Evidence::Record],
    fixes: &[],
    state: State::Account {
        because: &[
            "the blocks of running kernels took all multiprocessors, or as many kernels ran as the device allows",
        ],
        why: "a block starts when a multiprocessor has threads, registers and shared memory for it",
    },
};
