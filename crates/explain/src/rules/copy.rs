//! Copies that keep the calling thread until they are done: `hidden-sync` before the copy starts,
//! `pageable-order` and `copy-engine-busy` where it starts late, `pageable-staging` and
//! `page-faults` while it runs. Of a copy that only the call's arguments tell of, either.

use crate::class::Class;
use crate::facts::{CopyFacts, Facts};
use crate::parts::{Fact, Parts, Reason};
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, MemoryKind, Ns, OpId, OpKind};

/// A gap that the driver's own work explains: shorter ones are not looked into.
const GAP: Ns = 50_000;

/// Most that may lie between the end of one thing and the start of what waited for it: on an H200
/// pageable copies of several threads start 51 to 113 µs after the call before them returned.
const HANDOVER: Ns = 250_000;

/// Copies below this size are too short to tell a rate.
pub(crate) const RATED_BYTES: i64 = 1 << 20;

/// Bytes per second below which a copy to pageable memory is not only staged: an H200 reaches
/// 16.8 GB/s into memory in use and 1.55 GB/s (3.8 with huge pages) into memory never touched.
const FAULTING_RATE: f64 = 2.5e9;

pub(super) fn blocking(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    let Class::Copy { blocking } = facts.class(call) else { return };
    let Some(copy) = facts.copy(call) else {
        return asked_only(facts, call, blocking, parts);
    };
    let waits_for_it = blocking || copy.what.pageable();
    if !facts.one_clock() || !waits_for_it || copy.start < facts.start(call) || copy.start > facts.end(call) {
        return;
    }
    before(facts, call, &copy, blocking, parts);
    during(&copy, parts);
    after(facts, call, &copy, parts);
}

/// The GPU's records lack the copy: how long it waited and how long it ran cannot be told apart.
fn asked_only(facts: &Facts<'_>, call: CallId, blocking: bool, parts: &mut Parts) {
    let Some(copied) = facts.copied(call) else { return };
    let (bytes, time) = (copied.bytes, parts.rest());
    let waiting = if blocking { Cause::ExplicitSync } else { Cause::HiddenSync };
    let (cause, confidence) = match copied.pageable() {
        true if rate(bytes, time) >= FAULTING_RATE => (Cause::PageableStaging, Confidence::Possible),
        true => (waiting, Confidence::Possible),
        // The program waits for a copy of pinned memory, and for what is before it, by its own wish.
        false if blocking && [copied.src, copied.dst].contains(&MemoryKind::Pinned) => {
            (waiting, Confidence::Likely)
        }
        false => return,
    };
    let reason = Reason::new(cause, Evidence::Record, confidence, Fact::Asked { bytes, time });
    parts.claim(facts.start(call), facts.end(call) - facts.usual(call), reason);
}

/// Bytes per second.
fn rate(bytes: i64, time: Ns) -> f64 {
    bytes as f64 / (time.max(1) as f64 * 1e-9)
}

/// From the call to the start of the copy.
fn before(facts: &Facts<'_>, call: CallId, copy: &CopyFacts, blocking: bool, parts: &mut Parts) {
    let start = facts.start(call);
    let cause = if blocking { Cause::ExplicitSync } else { Cause::HiddenSync };
    let ends = |op: OpId| facts.trace.ops.end[op.index()];
    let mut waited = start;
    if let Some(before) = facts.before_in_stream(copy.first).filter(|op| ends(*op) > start) {
        waited = ends(before).min(copy.start);
        // The copy follows at once on what it waited for, or something else kept it as well.
        let at_once = copy.start - waited <= GAP.max((copy.start - start) / 10);
        let confidence = if at_once { Confidence::Certain } else { Confidence::Likely };
        parts.claim(start, waited, Reason::new(cause, Evidence::Record, confidence, Fact::Awaited(before)));
    }
    if copy.start - waited > GAP {
        started_late(facts, call, copy, waited, cause, parts);
    }
    if copy.what.pageable() && copy.what.kind.to_device() {
        // The driver fills its staging buffer before the first part of the copy starts.
        let setup = (copy.start - waited).min(one_piece(copy));
        parts.claim(copy.start - setup, copy.start, staging(copy));
    }
}

/// The copy was first in its stream and still did not start: another stream's operation that ends
/// as it starts kept it.
fn started_late(
    facts: &Facts<'_>,
    call: CallId,
    copy: &CopyFacts,
    waited: Ns,
    cause: Cause,
    parts: &mut Parts,
) {
    let slack = HANDOVER.min((copy.start - waited) / 10);
    let ops = &facts.trace.ops;
    let others = facts.ending_elsewhere(copy.first, copy.start - slack, copy.start + slack);
    let same_engine = |op: &&OpId| ops.kind[op.index()] == OpKind::Copy && shares_engine(facts, copy, **op);
    if let Some(other) = others.iter().find(same_engine) {
        let pageable = copy.what.pageable()
            && [ops.src[other.index()], ops.dst[other.index()]].contains(&MemoryKind::Pageable);
        let cause = if pageable { Cause::PageableOrder } else { Cause::CopyEngineBusy };
        let reason = Reason::new(cause, Evidence::Record, Confidence::Likely, Fact::Awaited(*other));
        parts.claim(waited, copy.start, reason.held_by(blamed(facts, call, *other)));
    } else if let Some(earlier) = earlier_pageable_copy(facts, call, copy.start, slack) {
        let reason = Reason::new(Cause::PageableOrder, Evidence::Timing, Confidence::Likely, Fact::None);
        parts.claim(waited, copy.start, reason.held_by(earlier));
    } else if let Some(other) = others.iter().find(|op| ops.kind[op.index()] == OpKind::Kernel) {
        // The legacy default stream waits for every other blocking stream.
        let reason = Reason::new(cause, Evidence::Record, Confidence::Possible, Fact::Awaited(*other));
        parts.claim(waited, copy.start, reason);
    }
}

/// Whether a copy needs the engine that serves `copy`: that of its direction, or the only one.
fn shares_engine(facts: &Facts<'_>, copy: &CopyFacts, other: OpId) -> bool {
    let trace = facts.trace;
    let device = trace.device_of_stream(trace.ops.stream[other.index()]);
    let engines = device.some().map_or(0, |device| trace.devices.copy_engines[device.index()]);
    engines == 1 || trace.ops.copy[other.index()] == copy.what.kind
}

/// The call behind an operation, if it is another thread's of the same process.
fn blamed(facts: &Facts<'_>, call: CallId, op: OpId) -> CallId {
    let holder = facts.trace.ops.call[op.index()].some();
    let other_thread = |holder: &CallId| {
        facts.process(*holder) == facts.process(call) && facts.thread(*holder) != facts.thread(call)
    };
    holder.filter(other_thread).unwrap_or(CallId::NONE)
}

/// Another thread's pageable copy, called before this one, that returns at `time`.
fn earlier_pageable_copy(facts: &Facts<'_>, call: CallId, time: Ns, slack: Ns) -> Option<CallId> {
    let earlier = |other: CallId| {
        facts.thread(other) != facts.thread(call)
            && facts.process(other) == facts.process(call)
            && facts.start(other) <= facts.start(call)
    };
    facts.pageable_copy(time.saturating_sub(slack), time.saturating_add(slack), earlier)
}

/// While the copy runs.
fn during(copy: &CopyFacts, parts: &mut Parts) {
    let reason = if copy.what.pageable() {
        staging(copy)
    } else {
        Reason::new(Cause::ExplicitSync, Evidence::Record, Confidence::Certain, Fact::Awaited(copy.first))
    };
    parts.claim(copy.start, copy.end, reason);
}

/// From the end of the copy to the return of the call.
fn after(facts: &Facts<'_>, call: CallId, copy: &CopyFacts, parts: &mut Parts) {
    let end = facts.end(call);
    let tail = end - copy.end;
    if tail > GAP
        && let Some(earlier) = earlier_pageable_copy(facts, call, end, HANDOVER.min(tail / 10))
    {
        let reason = Reason::new(Cause::PageableOrder, Evidence::Timing, Confidence::Likely, Fact::None);
        parts.claim(copy.end, end, reason.held_by(earlier));
    }
    if copy.what.pageable() && copy.what.kind.to_host() {
        // The driver empties its staging buffer after the last part of the copy.
        parts.claim(copy.end, copy.end + tail.min(one_piece(copy)), staging(copy));
    }
}

/// Time that the host's side of one staged piece may take: no more than the copy itself, and no
/// more than 4 MiB at the copy's rate (the best size of a piece on an H200 is 2 to 8 MB).
fn one_piece(copy: &CopyFacts) -> Ns {
    const PIECE: f64 = (4 << 20) as f64;
    let time = copy.end - copy.start;
    let piece = time as f64 * PIECE / copy.what.bytes.max(1) as f64;
    (piece as Ns).max(4 * GAP).min(time)
}

/// The copy's own time: staging, or, where that is far too slow for staging, page faults.
fn staging(copy: &CopyFacts) -> Reason {
    let time = (copy.end - copy.start).max(1);
    let rate = rate(copy.what.bytes, time);
    let faulting =
        copy.what.dst == MemoryKind::Pageable && copy.what.bytes >= RATED_BYTES && rate < FAULTING_RATE;
    let fact = Fact::Copied { bytes: copy.what.bytes, time };
    match faulting {
        true => Reason::new(Cause::PageFaults, Evidence::Timing, Confidence::Likely, fact),
        false => Reason::new(Cause::PageableStaging, Evidence::Record, Confidence::Certain, fact),
    }
}
