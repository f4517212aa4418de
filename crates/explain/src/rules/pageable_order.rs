//! `pageable-order`: a pageable copy waits for another thread's pageable copy, even in another stream.

use crate::analysis::grounds::Grounds;
use crate::facts::Facts;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::PINNED_REUSED;
use crate::rules::forms::forms;
use crate::{At, Class, Effect, Evidence, Fix};
use trace::CallId;

const SYNC_BEFORE_COPY: Fix = Fix {
    id: "sync-before-copy",
    text: "in the other thread: synchronize its stream before its copy (on an H200 16 threads gained 14 %, 32 lost \
           22 %)",
    safety: "always safe: the copy waits for the same work anyway; measure it",
    effect: Effect::Unknown,
    at: At::Copies,
    forms: forms![
        PyTorch: "sync-before-copy.pytorch.py",
        CuPy: "sync-before-copy.cupy.py",
        Cuda: "sync-before-copy.cuda.cu",
    ],
};

pub(super) static ABOUT: About = About {
    meaning: "a pageable copy waits for another thread's pageable copy",
    brief: "pageable copies wait for each other",
    bound: Bound::Copies,
    family: Family::Memory,
    nature: Nature::Lost,
    evidence: &[Evidence::Lock, Evidence::Record, Evidence::Timing],
    fixes: &[PINNED_REUSED, SYNC_BEFORE_COPY],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    let awaited = || grounds.awaited("each copy starts or returns when another thread's pageable copy ends");
    Statement {
        because: grounds.recorded().or_else(|| grounds.in_line()).unwrap_or_else(awaited),
        why: "pageable copies complete one after another, across streams",
        fixes: vec![PINNED_REUSED, SYNC_BEFORE_COPY],
    }
}

/// Whether two calls copy pageable memory in different streams. One lock of the driver makes them run one after another: a
/// mutex held for the 4.03 s of another stream's kernel and copy (H200).
pub(crate) fn orders(facts: &Facts<'_>, waiter: CallId, holder: CallId) -> bool {
    let pageable = |call: CallId| {
        let copies = matches!(facts.class(call), Class::Copy { .. });
        copies && facts.copied(call).is_some_and(|copied| copied.pageable())
    };
    let (stream, others) = (facts.stream(waiter), facts.stream(holder));
    pageable(waiter) && pageable(holder) && stream.is_some() && others.is_some() && stream != others
}
