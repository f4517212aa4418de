//! Copies that block the calling thread until they are done: `hidden-sync` before the copy starts, `pageable-order` and
//! `copy-engine-busy` if it starts late, `pageable-staging` and `page-faults` while it runs. If only the call's arguments
//! describe the copy, waiting and copying cannot be told apart.

use super::turns::{self, Turn, handover};
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::{CopyFacts, Facts, rate};
use crate::rules::copy_engine_busy::shares_engine;
use crate::rules::page_faults::FAULTING_RATE;
use crate::rules::pageable_staging;
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, MemoryKind, Ns, OpId, OpKind};
use waits::Class;

/// Longest gap that the driver's own work explains, ns: shorter ones are not examined.
const GAP: Ns = 50_000;

pub(crate) fn split(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    let Class::Copy { blocking } = facts.class(call) else { return };
    let Some(copy) = facts.copy(call) else {
        return asked_only(facts, call, blocking, parts);
    };
    let must_wait = blocking || copy.what.pageable();
    if !facts.one_clock() || copy.start < facts.start(call) || copy.start > facts.end(call) {
        return;
    }
    if must_wait || returns_with(facts, call, &copy) {
        before(facts, call, &copy, blocking, parts);
    }
    if !must_wait {
        return;
    }
    during(&copy, parts);
    after(facts, call, &copy, parts);
}

/// The part of a call, in percent, for which earlier work of its stream must run for the call to wait for that: a choice.
const MOST: Ns = 60;

/// Whether a call that need not wait does: the work before its copy ran for most of the call, its copy followed at once, and the call
/// returned with it. A call that was held up by something else puts its copy into the stream late, whatever runs there.
fn returns_with(facts: &Facts<'_>, call: CallId, copy: &CopyFacts) -> bool {
    let (start, end) = (facts.start(call), facts.end(call));
    let before = facts.free_to_copy(call).filter(|(_, free)| *free - start >= (end - start) / 100 * MOST);
    before.is_some_and(|(_, free)| copy.start - free <= GAP && (0..=GAP).contains(&(end - copy.end)))
}

/// Explains a copy that the GPU's records lack: the time it waited and the time it ran cannot be told apart.
fn asked_only(facts: &Facts<'_>, call: CallId, blocking: bool, parts: &mut Parts) {
    let Some(copied) = facts.copied(call) else { return unknown(facts, call, blocking, parts) };
    let (bytes, time) = (copied.bytes, parts.rest());
    let waiting = if blocking { Cause::ExplicitSync } else { Cause::HiddenSync };
    let launch = facts.launched_before(call).unwrap_or(CallId::NONE);
    let too_slow = copied.pageable() && rate(bytes, time) < FAULTING_RATE;
    let inferred = too_slow && !facts.locks_watched(call);
    let turns =
        if inferred { turns::before(facts, call, facts.start(call), facts.end(call)) } else { Vec::new() };
    if launch.is_none() && !turns.is_empty() {
        return in_line(facts, &turns, parts);
    }
    let (cause, confidence) = match copied.pageable() {
        true if !too_slow => (Cause::PageableStaging, Confidence::Possible),
        // It waits for what its thread launched, and no other thread's call fits.
        true if launch.is_some() && turns.is_empty() => (waiting, Confidence::Likely),
        true => (waiting, Confidence::Possible),
        // The program itself asked to wait for a copy of pinned memory and for the work before it.
        false if blocking && [copied.src, copied.dst].contains(&MemoryKind::Pinned) => {
            (waiting, Confidence::Likely)
        }
        false => return,
    };
    let or = turns.iter().map(|turn| turn.call).collect();
    let reason = Reason {
        or,
        ..Reason::new(cause, Evidence::Record, confidence, Fact::Asked { bytes, time, launch })
    };
    parts.claim(facts.start(call), facts.end(call) - facts.usual(call), reason);
}

/// Explains a copy whose size and memory are unknown: if it takes long, it waits for what its thread launched before it, or
/// for other threads' calls.
fn unknown(facts: &Facts<'_>, call: CallId, blocking: bool, parts: &mut Parts) {
    if !facts.has_unknown_copies() || facts.locks_watched(call) {
        return;
    }
    let (start, end) = (facts.start(call), facts.end(call));
    let turns = turns::before(facts, call, start, end);
    let Some(launch) = facts.launched_before(call) else { return in_line(facts, &turns, parts) };
    let cause = if blocking { Cause::ExplicitSync } else { Cause::HiddenSync };
    let confidence = if turns.is_empty() { Confidence::Likely } else { Confidence::Possible };
    let or = turns.iter().map(|turn| turn.call).collect();
    let reason = Reason { or, ..Reason::new(cause, Evidence::Timing, confidence, Fact::Launched(launch)) };
    parts.claim(start, end - facts.usual(call), reason);
}

/// Assigns a pageable copy's time to the calls that it waited for.
fn in_line(facts: &Facts<'_>, turns: &[Turn], parts: &mut Parts) {
    for turn in turns {
        let cause = match facts.class(turn.call) {
            Class::Copy { .. } => Cause::PageableOrder,
            _ => Cause::DriverLock,
        };
        let reason = Reason::new(cause, Evidence::Timing, Confidence::Likely, Fact::InLine);
        parts.claim(turn.from, turn.to, reason.held_by(turn.call));
    }
}

/// Explains the time from the call to the start of the copy.
fn before(facts: &Facts<'_>, call: CallId, copy: &CopyFacts, blocking: bool, parts: &mut Parts) {
    let start = facts.start(call);
    let cause = if blocking { Cause::ExplicitSync } else { Cause::HiddenSync };
    let mut waited = start;
    if let Some((before, free)) = facts.free_to_copy(call).filter(|(_, free)| *free > start) {
        waited = free;
        // If the copy does not start as soon as the work before it ends, it waited for something else as well.
        let at_once = copy.start - waited <= GAP.max((copy.start - start) / 10);
        // A call that need not wait may have been late by chance.
        let must_wait = blocking || copy.what.pageable();
        let confidence = if at_once && must_wait { Confidence::Certain } else { Confidence::Likely };
        parts.claim(start, waited, Reason::new(cause, Evidence::Record, confidence, Fact::Awaited(before)));
    }
    if copy.start - waited > GAP {
        started_late(facts, call, copy, waited, cause, parts);
    }
    if copy.what.pageable() && copy.what.kind.to_device() {
        // The driver fills its staging buffer before the first part of the copy starts.
        let setup = (copy.start - waited).min(one_piece(copy));
        parts.claim(copy.start - setup, copy.start, pageable_staging::of(copy));
    }
}

/// Explains why a copy that was next in its stream did not start: it waited for another stream's operation that ends as
/// it starts.
fn started_late(
    facts: &Facts<'_>,
    call: CallId,
    copy: &CopyFacts,
    waited: Ns,
    cause: Cause,
    parts: &mut Parts,
) {
    let slack = handover(copy.start - waited);
    let ops = &facts.trace.ops;
    let others = facts.ending_elsewhere(copy.first, copy.start - slack, copy.start);
    let same_engine = |op: &OpId| ops.kind[op.index()] == OpKind::Copy && shares_engine(facts, copy, *op);
    let pageable = |op: &OpId| {
        let kinds = [ops.src[op.index()], ops.dst[op.index()]];
        copy.what.pageable() && kinds.contains(&MemoryKind::Pageable)
    };
    // A staged copy makes the next one wait from its call on, not only while it runs.
    let covers = |op: &OpId| match blamed(facts, call, *op).some() {
        Some(holder) if pageable(op) => {
            facts.keeps_busy(holder)
                && copy.start - facts.start(holder).max(waited) >= (copy.start - waited) / 3
        }
        _ => true,
    };
    if let Some(other) = others.iter().find(|op| same_engine(op) && covers(op)) {
        let pageable = pageable(other);
        let cause = if pageable { Cause::PageableOrder } else { Cause::CopyEngineBusy };
        let reason = Reason::new(cause, Evidence::Record, Confidence::Likely, Fact::Awaited(*other));
        parts.claim(waited, copy.start, reason.held_by(blamed(facts, call, *other)));
        return;
    }
    let turns = turns::before(facts, call, waited, copy.start);
    if !turns.is_empty() {
        return in_line(facts, &turns, parts);
    }
    if let Some(other) = others.iter().find(|op| ops.kind[op.index()] == OpKind::Kernel) {
        // The legacy default stream waits for every other blocking stream.
        let reason = Reason::new(cause, Evidence::Record, Confidence::Possible, Fact::Awaited(*other));
        parts.claim(waited, copy.start, reason);
    }
}

/// The call behind an operation, if it is another thread's of the same process.
fn blamed(facts: &Facts<'_>, call: CallId, op: OpId) -> CallId {
    let holder = facts.trace.ops.call[op.index()].some();
    let other_thread = |holder: &CallId| {
        facts.process(*holder) == facts.process(call) && facts.thread(*holder) != facts.thread(call)
    };
    holder.filter(other_thread).unwrap_or(CallId::NONE)
}

/// Explains the time while the copy runs.
fn during(copy: &CopyFacts, parts: &mut Parts) {
    let reason = if copy.what.pageable() {
        pageable_staging::of(copy)
    } else {
        Reason::new(Cause::ExplicitSync, Evidence::Record, Confidence::Certain, Fact::Awaited(copy.first))
    };
    parts.claim(copy.start, copy.end, reason);
}

/// Explains the time from the end of the copy to the return of the call.
fn after(facts: &Facts<'_>, call: CallId, copy: &CopyFacts, parts: &mut Parts) {
    let end = facts.end(call);
    let tail = end - copy.end;
    if tail > GAP {
        in_line(facts, &turns::before(facts, call, copy.end, end), parts);
    }
    if copy.what.pageable() && copy.what.kind.to_host() {
        // The driver empties its staging buffer after the last part of the copy.
        parts.claim(copy.end, copy.end + tail.min(one_piece(copy)), pageable_staging::of(copy));
    }
}

/// Most time that the host's side of one staged piece may take, ns: no more than the copy itself, and no more than 4 MiB
/// at the copy's rate (the best size of a piece on an H200 is 2 to 8 MB).
fn one_piece(copy: &CopyFacts) -> Ns {
    const PIECE: f64 = (4 << 20) as f64;
    let time = copy.end - copy.start;
    let piece = time as f64 * PIECE / copy.what.bytes.max(1) as f64;
    (piece as Ns).max(4 * GAP).min(time)
}
