//! `issue-order`: an operation waits for one that was issued before it, on devices before Hyper-Q.

use super::copy_engine_busy::ISSUE_ORDER;
use crate::Evidence;
use crate::rules::about::{About, Bound, Family, Nature, State};

pub(super) static ABOUT: About = About {
    meaning: "before compute capability 3.5: an operation that is ready waits for one that was issued before it and is not",
    brief: "work waits for what was issued before it",
    bound: Bound::Driver,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[ISSUE_ORDER],
    state: State::Account {
        because: &[
            "its engine was idle until an operation started that was issued before it, or until kernels issued back to \
                  back had all ended",
        ],
        why: "each engine starts operations in the order of issue; kernels issued back to back signal their end together",
    },
};
