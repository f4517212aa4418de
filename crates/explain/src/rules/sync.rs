//! `explicit-sync`: the program asked to wait.

use crate::class::Class;
use crate::facts::Facts;
use crate::parts::{Fact, Parts, Reason};
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, CopyKind, Ns, OpKind, StreamId};

/// A copy of this many bytes or fewer to the host, followed by a wait, reads back a result: what
/// `.item()` and cuBLAS in host-pointer mode do. 16 bytes hold the widest scalar, a double complex.
const SCALAR_BYTES: i64 = 16;

pub(super) fn explicit(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if facts.class(call) != Class::Sync {
        return;
    }
    let reason = match reads_back_a_scalar(facts, call) {
        true => Reason::new(Cause::HiddenSync, Evidence::Record, Confidence::Likely, Fact::None),
        false => Reason::new(Cause::ExplicitSync, Evidence::Record, Confidence::Certain, Fact::None),
    };
    parts.claim(facts.start(call), idle(facts, call), reason);
    // Work that the trace does not know of, or no work at all.
    let reason = Reason::new(Cause::ExplicitSync, Evidence::Timing, Confidence::Possible, Fact::Idle);
    parts.claim(facts.start(call), facts.end(call), reason);
}

/// From when on the call waited for nothing, as far as the records prove it; else its end. Of a stream nothing is missing
/// between operations that were recorded: before the first and behind the last there may be others.
fn idle(facts: &Facts<'_>, call: CallId) -> Ns {
    let (start, end) = (facts.start(call), facts.end(call));
    let done = |stream: StreamId| facts.done(stream, start).filter(|_| facts.goes_on(stream, end));
    let is_whole = facts.one_clock() && !facts.trace.meta.is_part();
    let streams = if is_whole { facts.synced(call) } else { Vec::new() };
    let idle = streams.into_iter().map(done).reduce(|all, one| all.zip(one).map(|(all, one)| all.max(one)));
    match idle.flatten() {
        Some(idle) if idle + facts.tolerance(call) < end => idle.max(start),
        _ => end,
    }
}

/// Whether the thread's call before this one copied a scalar to the host.
fn reads_back_a_scalar(facts: &Facts<'_>, call: CallId) -> bool {
    let Some(previous) = facts.previous(call) else { return false };
    let ops = &facts.trace.ops;
    let is_scalar = |kind, bytes| kind == CopyKind::DtoH && bytes <= SCALAR_BYTES;
    match facts.ops(previous) {
        [] => facts.copied(previous).is_some_and(|copied| is_scalar(copied.kind, copied.bytes)),
        asked => asked
            .iter()
            .map(|op| op.index())
            .any(|at| ops.kind[at] == OpKind::Copy && is_scalar(ops.copy[at], ops.bytes[at])),
    }
}
