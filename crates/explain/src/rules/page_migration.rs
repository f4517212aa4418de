//! `page-migration`: host or GPU touches unified memory that the other one used, page by page.

use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::{At, Effect, Evidence, Fix};

const PREFETCH: Fix = Fix {
    id: "prefetch",
    text: "prefetch unified memory before the other side needs it (cudaMemPrefetchAsync), or fill it on the device",
    safety: "safe; memory that both sides use at the same time still migrates",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: &[],
};

pub(super) static ABOUT: About = About {
    meaning: "pages of unified memory migrate, because the other side touches them",
    brief: "pages of unified memory migrate, because the other side touches them",
    bound: Bound::Copies,
    family: Family::Memory,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[PREFETCH],
    state: State::Account {
        because: &[
            "pages of unified memory migrated, and no call asked for that; the GPU was idle, or its kernel waited for them",
        ],
        why: "a page that the other side touches faults, and migrates with a few of its neighbors",
    },
};
