//! `implicit-device-sync`: freeing, unpinning, loading and unloading wait for the device.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::Facts;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::{EAGER_LOADING, POOL_ALLOCATOR};
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, Ns, OpId};
use waits::Class;

pub(super) static ABOUT: About = About {
    meaning: "freeing, unregistering, loading or unloading waits for the device",
    brief: "freeing, loading or unloading waits for the GPU",
    bound: Bound::Driver,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Record, Evidence::Timing],
    fixes: &[POOL_ALLOCATOR, EAGER_LOADING],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    Statement {
        because: match grounds.group.evidence() {
            Evidence::Timing => {
                grounds.launched("each call returns when another thread's wait for the GPU does")
            }
            Evidence::Record | Evidence::Lock | Evidence::Sample => {
                grounds.awaited("each call returns when the device finishes its work")
            }
        },
        why: if loads(grounds) {
            "loading code may wait until the context has finished its work"
        } else {
            "freeing memory waits until the device has finished what uses it"
        },
        fixes: vec![if loads(grounds) { EAGER_LOADING } else { POOL_ALLOCATOR }],
    }
}

/// Whether the calls that waited load code.
fn loads(grounds: &Grounds<'_>) -> bool {
    grounds.waiter() == Class::Load
}

/// Part of a free, in percent, that the device's work must take for it to be what the free waited for.
const COVER_PERCENT: Ns = 80;

pub(crate) fn of_free(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    let Some((last, confidence)) = awaited(facts, call) else { return };
    let (start, idle) = (facts.start(call), facts.trace.ops.end[last.index()]);
    // A copy back may come last, behind the kernel that all waited for.
    let near = (idle - facts.tolerance(call), idle);
    let longest = facts.longest_ending(facts.process(call), facts.device(call), start, near).unwrap_or(last);
    let fact = Fact::Awaited(longest);
    let reason = Reason::new(Cause::ImplicitDeviceSync, Evidence::Record, confidence, fact);
    parts.claim(start, idle, reason);
}

/// Most time from the end of the device's work to that of a load that waited for it, ns: 11 to 16 µs (H200, 278 modules that
/// a thread loads beside four threads that launch).
const AFTER_IDLE: Ns = 30_000;

/// Claims a load of code that returns when the device finishes what it had when the load began: loading may synchronize the
/// context (CUDA C++ programming guide, lazy loading).
pub(crate) fn of_load(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if facts.class(call) != Class::Load || !facts.one_clock() {
        return;
    }
    let (start, end) = (facts.start(call), facts.end(call));
    let Some(last) = facts.last_pending(facts.process(call), facts.device(call), start) else { return };
    let idle = facts.trace.ops.end[last.index()];
    if idle > start && idle <= end && end - idle <= AFTER_IDLE {
        let fact = Fact::Awaited(last);
        let reason = Reason::new(Cause::ImplicitDeviceSync, Evidence::Record, Confidence::Likely, fact);
        parts.claim(start, idle, reason);
    }
}

/// The time at which the device was done with the work that a free waits for, ns.
pub(crate) fn idle(facts: &Facts<'_>, call: CallId) -> Option<Ns> {
    awaited(facts, call).map(|(last, _)| facts.trace.ops.end[last.index()])
}

/// The last operation that a call waited for when it waited for the device, with the confidence.
fn awaited(facts: &Facts<'_>, call: CallId) -> Option<(OpId, Confidence)> {
    let confidence = match facts.class(call) {
        Class::Release => Confidence::Certain,
        // An allocation that finds no memory frees what it can, and that waits; other allocations do not wait.
        Class::Allocate => Confidence::Possible,
        _ => return None,
    };
    if !facts.one_clock() {
        return None;
    }
    let (start, end) = (facts.start(call), facts.end(call));
    let ends = |op: OpId| facts.trace.ops.end[op.index()];
    let pending = facts.last_pending(facts.process(call), facts.device(call), start);
    let known = match pending.filter(|op| ends(*op) > start) {
        Some(op) if ends(op) > end => return None,
        Some(op) => returns_with(facts, call, ends(op), confidence).map(|sure| (op, sure)),
        None => None,
    };
    known.or_else(|| submitted_meanwhile(facts, call, confidence))
}

/// The confidence that a call waited for the device, which was idle at `idle`: the call returns with the work, or then
/// unmaps memory for no longer than it waited.
fn returns_with(facts: &Facts<'_>, call: CallId, idle: Ns, sure: Confidence) -> Option<Confidence> {
    match facts.end(call) - idle {
        tail if tail <= facts.tolerance(call) => Some(sure),
        tail if sure == Confidence::Certain && tail <= idle - facts.start(call) => Some(Confidence::Likely),
        _ => None,
    }
}

/// The operation that other threads submitted after a free began: the free first waits for its turn at the driver, and then
/// for all work that the device has by then. In seed 000's second listing a `cudaFree` of 4.52 s returns with a kernel
/// launched 2 ms after it.
fn submitted_meanwhile(facts: &Facts<'_>, call: CallId, sure: Confidence) -> Option<(OpId, Confidence)> {
    let (start, end) = (facts.start(call), facts.end(call));
    if sure != Confidence::Certain {
        return None;
    }
    let near = (end - facts.tolerance(call), end);
    let op = facts.longest_ending(facts.process(call), facts.device(call), start, near)?;
    let ops = &facts.trace.ops;
    let covered = ops.end[op.index()] - ops.start[op.index()].max(start);
    (covered >= (end - start) / 100 * COVER_PERCENT).then_some((op, Confidence::Likely))
}

/// Claims, without the GPU's records, a free that returns together with another thread's wait for the GPU. Both waited for
/// the same work, even if the free waited for something else first.
pub(crate) fn beside_a_wait(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if facts.class(call) != Class::Release || !parts.mostly_open() || facts.has_operations(call) {
        return;
    }
    let (start, end) = (facts.start(call), facts.end(call));
    let tolerance = facts.tolerance(call);
    let waiting = facts.device_waits(end - tolerance, end + tolerance);
    let beside = waiting.filter(|wait| facts.is_beside(call, *wait));
    let covered = |wait: CallId| facts.end(wait).min(end) - facts.start(wait).max(start);
    let Some(wait) = beside.max_by_key(|wait| (covered(*wait), std::cmp::Reverse(*wait))) else { return };
    if covered(wait) < (end - start) / 100 * COVER_PERCENT {
        return;
    }
    let fact = facts.launched_before(wait).map_or(Fact::None, Fact::Launched);
    let reason = Reason::new(Cause::ImplicitDeviceSync, Evidence::Timing, Confidence::Likely, fact);
    parts.claim(start, facts.end(wait).min(end), reason);
}
