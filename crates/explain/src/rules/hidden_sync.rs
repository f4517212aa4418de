//! `hidden-sync`: a call that looks asynchronous waits for earlier work of the GPU.

use super::explicit_sync::is_scalar_to_host;
use crate::analysis::grounds::Grounds;
use crate::analysis::parts::Fact;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::PINNED_REUSED;
use crate::rules::forms::forms;
use crate::{At, Effect, Evidence, Fix, Sentence};
use trace::{CallId, MemoryKind};
use waits::Class;

const DEVICE_SCALAR: Fix = Fix {
    id: "device-scalar",
    text: "keep the result on the device (device pointer mode, no .item()), or read results in batches",
    safety: "safe if no host decision needs the value before its next use on the device",
    effect: Effect::Change("device-scalar"),
    at: At::Waiter,
    forms: forms![
        PyTorch: "device-scalar.pytorch.py",
        CuPy: "device-scalar.cupy.py",
        Jax: "device-scalar.jax.py",
        Cuda: "device-scalar.cuda.cu",
        Julia: "device-scalar.julia.jl",
    ],
};

pub(super) static ABOUT: About = About {
    meaning: "a call that looks asynchronous waits for the GPU's work before it (`.item()`, `.cpu()`, a norm's result)",
    brief: "calls that look asynchronous wait for the GPU",
    bound: Bound::Host,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Record, Evidence::Timing],
    fixes: &[DEVICE_SCALAR, PINNED_REUSED],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    let is_scalar = grounds.key.holder.is_none() && fetches_a_scalar(grounds);
    let mut fixes = if is_scalar { vec![DEVICE_SCALAR] } else { Vec::new() };
    fixes.extend((!is_pinned(grounds)).then_some(PINNED_REUSED));
    Statement {
        because: because(grounds),
        why: "the call returns when its copy is done, and the copy starts when the work before it is done",
        fixes,
    }
}

fn because(grounds: &Grounds<'_>) -> Sentence {
    if grounds.only_arguments() {
        return by_arguments(grounds);
    }
    if grounds.group.facts.iter().any(|fact| matches!(fact, Fact::Launched(_))) {
        return sentence!["the thread launched "].then(grounds.a_kernel(grounds.launches())).then(sentence![
            " just before, and the copy waits for it; the trace does not show what is copied"
        ]);
    }
    grounds.awaited("each copy starts when the work before it ends")
}

/// The evidence for copies that only arguments describe, with what else may have taken the time.
fn by_arguments(grounds: &Grounds<'_>) -> Sentence {
    let copies = grounds.copies();
    let by_arguments = copies.sentence().then(sentence![" by the calls' arguments"]);
    if copies.are_far_too_few() && grounds.launches().count() == grounds.group.facts.len() {
        let launched = sentence![", far too little to take so long; the thread launched "];
        let kernel = grounds.a_kernel(grounds.launches());
        return by_arguments.then(launched).then(kernel).then(sentence![" into the stream just before"]);
    }
    by_arguments.then(match copies.has_rate() {
        false => sentence![
            ", too little to take so long; without the GPU's records, a slow copy (pageable-staging, page-faults) \
             fits as well"
        ],
        true => sentence![
            ", far below what staging reaches (8 to 17 GB/s on an H200); without the GPU's records, a slow copy \
             (pageable-staging, page-faults) fits as well"
        ],
    })
}

/// Whether each waiting call fetches one number: a norm, a flag, a loss. A synchronization fetches what the call before it copied.
fn fetches_a_scalar(grounds: &Grounds<'_>) -> bool {
    grounds.group.count() > 0
        && grounds.waiting_calls().all(|call| is_scalar_to_host(grounds.facts, copy(grounds, call)))
}

/// The call that copies: a waiting call, or the one before it if that is a synchronization.
fn copy(grounds: &Grounds<'_>, call: CallId) -> CallId {
    let is_sync = grounds.facts.class(call) == Class::Sync;
    grounds.facts.previous(call).filter(|_| is_sync).unwrap_or(call)
}

/// Whether each waiting call copies from or to pinned memory already.
fn is_pinned(grounds: &Grounds<'_>) -> bool {
    let is_pinned = |call| {
        let copied = grounds.facts.copied(copy(grounds, call));
        copied.is_some_and(|copied| [copied.src, copied.dst].contains(&MemoryKind::Pinned))
    };
    grounds.group.count() > 0 && grounds.waiting_calls().all(is_pinned)
}
