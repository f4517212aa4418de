//! `pageable-staging`: a copy of pageable memory takes longer because it goes through the driver's staging buffers.

use super::page_faults;
use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Reason};
use crate::facts::CopyFacts;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::PINNED_REUSED;
use crate::{Cause, Confidence, Evidence};

pub(super) static ABOUT: About = About {
    meaning: "a copy of pageable memory goes through the driver's staging buffers",
    brief: "pageable copies go through the driver's buffers",
    bound: Bound::Copies,
    family: Family::Memory,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[PINNED_REUSED],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    let rest = match grounds.only_arguments() {
        true => sentence![
            " by the calls' arguments; without the GPU's records, waiting for earlier work (hidden-sync) fits as well"
        ],
        false => sentence![" through staging buffers"],
    };
    Statement {
        because: grounds.copies().sentence().then(rest),
        why: "the driver copies pageable memory piece by piece through its own pinned buffers",
        fixes: vec![PINNED_REUSED],
    }
}

/// The reason for the copy's own time: staging, unless it is far too slow for that.
pub(crate) fn of(copy: &CopyFacts) -> Reason {
    page_faults::of(copy).unwrap_or_else(|| {
        let fact = Fact::Copied { op: copy.first, bytes: copy.what.bytes, time: copy.time() };
        Reason::new(Cause::PageableStaging, Evidence::Record, Confidence::Certain, fact)
    })
}
