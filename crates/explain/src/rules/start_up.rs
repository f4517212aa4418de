//! `start-up`: the time to the first operation.

use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    meaning: "from the program's first CUDA call to the GPU's first operation",
    brief: "the program starts",
    bound: Bound::StartUp,
    family: Family::Setup,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[],
    state: State::Account {
        because: &["the GPU had no work yet"],
        why: "the program loads libraries, creates contexts and prepares its first work",
    },
};
