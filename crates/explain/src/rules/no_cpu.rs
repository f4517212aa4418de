//! `no-cpu`: threads are ready and have no processor.

use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::{At, Effect, Evidence, Fix};

pub(super) static ABOUT: About = About {
    meaning: "a thread is ready to run and has no processor",
    brief: "a thread has no processor",
    bound: Bound::Host,
    family: Family::Asleep,
    nature: Nature::Lost,
    evidence: &[Evidence::Sample, Evidence::Record],
    fixes: &[MORE_CPUS],
    state: State::Account {
        because: &[
            "the scheduler's numbers show that the thread waited for a processor",
            "the profiler recorded that the thread was ready and did not run",
        ],
        why: "more threads are ready than there are processors for them, or the control group is throttled",
    },
};

const MORE_CPUS: Fix = Fix {
    id: "more-cpus",
    text: "give the program more processors or a higher quota, or start fewer threads beside the ones that launch",
    safety: "always safe",
    effect: Effect::Change("more-cpus"),
    at: At::Waiter,
    forms: &[],
};
