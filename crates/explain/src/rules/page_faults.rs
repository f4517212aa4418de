//! `page-faults`: a copy writes to host memory that was never touched.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Reason};
use crate::facts::{CopyFacts, RATED_BYTES, rate};
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::forms::PINNED;
use crate::{At, Cause, Confidence, Effect, Evidence, Fix};
use trace::MemoryKind;

const REUSED_BUFFER: Fix = Fix {
    id: "pinned-reused",
    text: "copy into one buffer that you keep, pinned at best: untouched memory faults page by page",
    safety: "safe if nobody still reads the buffer's last content",
    effect: Effect::Change("pinned-reused"),
    at: At::Copies,
    forms: PINNED,
};

pub(super) static ABOUT: About = About {
    meaning: "a copy goes into pageable memory that was never touched",
    brief: "copies go into pageable memory that was never touched",
    bound: Bound::Copies,
    family: Family::Memory,
    nature: Nature::Lost,
    evidence: &[Evidence::Timing],
    fixes: &[REUSED_BUFFER],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    let slow = sentence![": far below what staging reaches into memory in use (8 to 17 GB/s on an H200)"];
    Statement {
        because: grounds.copies().sentence().then(slow),
        why: "the operating system maps untouched memory page by page while the copy runs",
        fixes: vec![REUSED_BUFFER],
    }
}

/// Bytes per second below which a copy to pageable memory is slower than staging explains: an H200 reaches 16.8 GB/s into
/// memory in use and 1.55 GB/s (3.8 with huge pages) into untouched memory.
pub(crate) const FAULTING_RATE: f64 = 2.5e9;

/// The reason for a copy that is far too slow for staging; `None` for other copies.
pub(crate) fn of(copy: &CopyFacts) -> Option<Reason> {
    let (bytes, time) = (copy.what.bytes, copy.time());
    let faults =
        copy.what.dst == MemoryKind::Pageable && bytes >= RATED_BYTES && rate(bytes, time) < FAULTING_RATE;
    let fact = Fact::Copied { op: copy.first, bytes, time };
    faults.then(|| Reason::new(Cause::PageFaults, Evidence::Timing, Confidence::Likely, fact))
}
