//! `page-migration`: the host touches unified memory that the GPU used, page by page.

use crate::rules::about::{About, Bound, Family, Nature, State};
use crate::{At, Evidence, Fix};

const PREFETCH: Fix = Fix {
    id: "prefetch",
    text: "prefetch unified memory before the other side needs it (cudaMemPrefetchAsync), or fill it on the device",
    safety: "safe; memory that both sides use at the same time still migrates",
    change: None,
    at: At::Waiter,
    forms: &[],
};

pub(super) static ABOUT: About = About {
    meaning: "pages of unified memory migrate, because the other side touches them",
    brief: "the host touches unified memory that the GPU used, and its pages migrate",
    bound: Bound::Copies,
    family: Family::Memory,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[PREFETCH],
    state: State::Account {
        because: &["the GPU was idle until pages of unified memory migrated, which the host touched"],
        why: "a page that the other side touches faults, and migrates with a few of its neighbors",
    },
};
