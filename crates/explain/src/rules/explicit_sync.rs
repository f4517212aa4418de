//! `explicit-sync`: the program asked to wait.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::Facts;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::forms::forms;
use crate::{At, Cause, Confidence, Effect, Evidence, Fix, Piece, Sentence};
use trace::{CallId, CopyKind, MemoryKind, Ns, OpKind, StreamId};
use waits::Class;

/// Largest copy to the host, bytes, that reads back a result if a wait follows, as in `.item()` and cuBLAS in host-pointer
/// mode. 16 bytes hold the widest scalar, a double complex.
const SCALAR_BYTES: i64 = 16;

/// Longest time from the end of a framework's copy to its wait for it, ns: a choice. PyTorch 2.11 takes 1 to 3 µs.
const AT_ONCE: Ns = 10_000;

pub(super) static ABOUT: About = About {
    meaning: "the program asked to wait for the GPU",
    brief: "the program waits for the GPU",
    bound: Bound::Host,
    family: Family::Sync,
    nature: Nature::Asked,
    evidence: &[Evidence::Record, Evidence::Timing],
    fixes: &[FEWER_SYNCS],
    state: State::Rule(state),
};

/// Offered where a finding costs the GPUs something: every program waits for its GPU at some time.
const FEWER_SYNCS: Fix = Fix {
    id: "fewer-syncs",
    text: "leave the synchronization out, wait less often, or wait for an event of what is needed",
    safety: "safe if the host reads no result before it has waited for it; work in one stream runs in order anyway",
    effect: Effect::Removal,
    at: At::Waiter,
    forms: forms![
        PyTorch: "fewer-syncs.pytorch.py",
        CuPy: "fewer-syncs.cupy.py",
        Cuda: "fewer-syncs.cuda.cu",
        Julia: "fewer-syncs.julia.jl",
        Fortran: "fewer-syncs.fortran.cuf",
    ],
};

fn state(grounds: &Grounds<'_>) -> Statement {
    Statement {
        because: because(grounds),
        why: "the program asked to wait for the GPU",
        fixes: vec![FEWER_SYNCS],
    }
}

fn because(grounds: &Grounds<'_>) -> Sentence {
    if grounds.only_arguments() {
        return grounds.copies().sentence().then(sentence![
            " by the calls' arguments; without the GPU's records, waiting and copying cannot be told apart"
        ]);
    }
    match grounds.group.facts.iter().filter(|fact| **fact == Fact::Idle).count() {
        0 => sentence!["the call exists to wait"],
        idle => {
            let idle = Piece::Count(idle as u64, "call", "calls");
            sentence![
                "the call exists to wait, but ",
                idle,
                " still waited after all known work of the GPU was done"
            ]
        }
    }
}

pub(crate) fn asked(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if facts.class(call) != Class::Sync {
        return;
    }
    let (asked, confidence) = match reads(facts, call) {
        Some(confidence) => (Cause::HiddenSync, confidence),
        None => (Cause::ExplicitSync, Confidence::Certain),
    };
    let reason = Reason::new(asked, Evidence::Record, confidence, Fact::None);
    parts.claim(facts.start(call), idle(facts, call), reason);
    // The rest is a wait for work that the trace lacks, or for none at all: a pool that keeps nothing gives back what was freed.
    let (cause, confidence) = match facts.frees_into_pool(call) {
        true => (Cause::PoolTrim, Confidence::Likely),
        false => (asked, Confidence::Possible),
    };
    let reason = Reason::new(cause, Evidence::Timing, confidence, Fact::Idle);
    parts.claim(facts.start(call), facts.end(call), reason);
}

/// How sure it is that a synchronization belongs to the copy before it: the program asked for the value, and not for the wait.
pub(crate) fn reads(facts: &Facts<'_>, call: CallId) -> Option<Confidence> {
    let copy = facts.previous(call)?;
    match () {
        // The program called the operator, and the operator this.
        () if facts.copied(copy).is_some() && facts.share_an_operator(copy, call) => {
            Some(Confidence::Certain)
        }
        () if is_scalar_to_host(facts, copy) => Some(Confidence::Likely),
        // A framework waits for its copy of pageable memory; a program of its own asks for both.
        () if facts.runs_python() && facts.copied(copy).is_some_and(|copied| copied.pageable()) => {
            (facts.start(call) - facts.end(copy) <= AT_ONCE).then_some(Confidence::Likely)
        }
        () => None,
    }
}

/// Whether a copy fetches a scalar and returns when it is there: however short, it is a round trip to the GPU and back.
pub(crate) fn fetches(facts: &Facts<'_>, call: CallId, blocking: bool) -> bool {
    is_scalar_to_host(facts, call)
        && (blocking || facts.copied(call).is_some_and(|copied| copied.dst == MemoryKind::Pageable))
}

/// The time from which the call waited for nothing, ns, if the records prove it; else its end. A stream lacks no operation
/// between two recorded ones, but may lack some before the first and after the last.
fn idle(facts: &Facts<'_>, call: CallId) -> Ns {
    let (start, end) = (facts.start(call), facts.end(call));
    let done = |stream: StreamId| facts.done(stream, start).filter(|_| facts.goes_on(stream, end));
    let is_whole = facts.one_clock() && !facts.trace.meta.is_part();
    // Of an unrecorded synchronization some stream is waited for: one of the device's.
    let streams = match facts.synced(call) {
        _ if !is_whole => Vec::new(),
        streams if streams.is_empty() => facts.streams_of(facts.process(call), facts.device(call)).collect(),
        streams => streams,
    };
    let idle = streams.into_iter().map(done).reduce(|all, one| all.zip(one).map(|(all, one)| all.max(one)));
    match idle.flatten() {
        Some(idle) if idle + facts.tolerance(call) < end => idle.max(start),
        _ => end,
    }
}

/// Whether a call copied a scalar to the host.
pub(super) fn is_scalar_to_host(facts: &Facts<'_>, call: CallId) -> bool {
    let ops = &facts.trace.ops;
    let is_scalar = |kind, bytes| kind == CopyKind::DtoH && bytes <= SCALAR_BYTES;
    match facts.ops(call) {
        [] => facts.copied(call).is_some_and(|copied| is_scalar(copied.kind, copied.bytes)),
        asked => asked
            .iter()
            .map(|op| op.index())
            .any(|at| ops.kind[at] == OpKind::Copy && is_scalar(ops.copy[at], ops.bytes[at])),
    }
}
