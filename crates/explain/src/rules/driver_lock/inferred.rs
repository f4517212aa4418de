//! Inferred waits for the driver's locks: the wait lies within another thread's calls and ends with one.
//!
//! Which calls hold locks that other calls need was measured on an H200. Any other pair of calls that coincide is no
//! finding, or a `possible` one. If every wait was recorded (`analysis/recorded_waits.rs`), nothing is inferred.

use crate::analysis::parts::{Fact, Parts, Reason};
use crate::analysis::turns;
use crate::facts::Facts;
use crate::facts::stretch::Stretch;
use crate::result::side::Side;
use crate::rules::profiler_overhead;
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, Ns};
use waits::Class;

/// Part of the waiter's time up to the holder's end, in percent, that the holder's thread must spend in calls that hold
/// locks.
const COVER_PERCENT: Ns = 80;

/// Part of the waiter's time beyond its usual cost, in percent, that those calls must cover.
const EXCESS_PERCENT: Ns = 60;

/// How strongly a pair of calls suggests a lock; the strongest last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Suspicion {
    /// Both submit work to one context and both are slow: the launch mutex fits, in either direction.
    Contends,
    /// This kind of call holds the context's lock, but in measurements it did not slow calls in other streams.
    Weak,
    /// This kind of call is known to hold the lock that the waiter needs.
    Strong,
}

/// Calls that may hold a lock.
pub(crate) struct Holders {
    /// All, by end.
    by_end: Vec<CallId>,
    /// Calls of each thread, by start.
    by_thread: Vec<Vec<CallId>>,
}

impl Holders {
    /// Collects calls of the kinds that hold locks, and calls that submit work. Calls shorter than `least` ns cannot make
    /// another call slow and are skipped. If every wait was recorded, there are no holders to infer: a call without a record
    /// waited for no lock.
    pub fn new(facts: &Facts<'_>, least: Ns) -> Holders {
        let watched = facts.trace.meta.locks_watched;
        let may_hold = |call: CallId| {
            !watched
                && facts.outermost(call) == call
                && facts.duration(call) >= least
                && !is_waiter(facts, call)
                && !matches!(facts.class(call), Class::Sync | Class::Query | Class::Os | Class::Other)
        };
        let mut by_end = facts.calls_where(may_hold);
        let mut by_thread = vec![Vec::new(); facts.trace.threads.len()];
        for call in &by_end {
            by_thread[facts.thread(*call).index()].push(*call);
        }
        by_end.sort_by_key(|call| facts.end(*call));
        Holders { by_end, by_thread }
    }

    /// The longest call of the holder's thread during `waiter`, of the kind of call that covers most of it: the thread may
    /// have been in several calls. `None` if no kind covers a third.
    fn covering_most(
        &self,
        facts: &Facts<'_>,
        waiter: CallId,
        holder: CallId,
        least: Suspicion,
    ) -> Option<CallId> {
        let (start, end) = (facts.start(waiter), facts.end(waiter));
        let calls = &self.by_thread[facts.thread(holder).index()];
        let after = calls.partition_point(|call| facts.start(*call) < end);
        let during = calls[..after].iter().rev().take_while(|call| facts.end(**call) > start).copied();
        let mut kinds: Vec<(Side, Ns, CallId, Ns)> = Vec::new();
        for call in during.filter(|call| suspicion(facts, waiter, *call).is_some_and(|kind| kind >= least)) {
            let covered = facts.end(call).min(end) - facts.start(call).max(start);
            let side = Side::of(facts, Stretch::Call(call));
            match kinds.iter_mut().find(|kind| kind.0 == side) {
                Some((_, sum, longest, most)) => {
                    *sum += covered;
                    if covered > *most {
                        (*longest, *most) = (call, covered);
                    }
                }
                None => kinds.push((side, covered, call, covered)),
            }
        }
        let (_, covered, longest, _) =
            kinds.into_iter().max_by_key(|(_, sum, call, _)| (*sum, std::cmp::Reverse(*call)))?;
        (covered >= (end - start) / 3).then_some(longest)
    }

    /// Calls that end within `[from, to]`.
    fn ending(&self, facts: &Facts<'_>, from: Ns, to: Ns) -> impl Iterator<Item = CallId> {
        let first = self.by_end.partition_point(|call| facts.end(*call) < from);
        let last = self.by_end.partition_point(|call| facts.end(*call) <= to);
        self.by_end[first..last.max(first)].iter().copied()
    }

    /// Calls of other threads that may hold what `waiter` needs and cover most of its time, wherever they end: one per
    /// thread, the longest. They are no evidence of a wait, but they make another explanation less sure.
    pub fn beside(&self, facts: &Facts<'_>, waiter: CallId) -> Vec<CallId> {
        let overlap = |call: CallId| {
            facts.end(call).min(facts.end(waiter)) - facts.start(call).max(facts.start(waiter))
        };
        let mut beside = Vec::new();
        for calls in &self.by_thread {
            let before = calls.partition_point(|call| facts.start(*call) < facts.end(waiter));
            let near =
                calls[..before].iter().rev().take_while(|call| facts.end(**call) > facts.start(waiter));
            let suspect = near.copied().max_by_key(|call| overlap(*call)).filter(|call| {
                let covers = overlap(*call) >= facts.duration(waiter) / 100 * COVER_PERCENT;
                covers && suspicion(facts, waiter, *call).is_some_and(|kind| kind >= Suspicion::Weak)
            });
            beside.extend(suspect);
        }
        beside
    }

    /// Time of `waiter` during which the holder's thread was in calls that may hold locks, and its start, ns.
    fn cover(&self, facts: &Facts<'_>, waiter: CallId, holder: CallId) -> (Ns, Ns) {
        let (start, end) = (facts.start(waiter), facts.end(waiter));
        let calls = &self.by_thread[facts.thread(holder).index()];
        let after = calls.partition_point(|call| facts.start(*call) < end);
        let (mut covered, mut from) = (0, end);
        for call in calls[..after].iter().rev().take_while(|call| facts.end(**call) > start) {
            // Calls of a thread may overlap in a damaged trace: count only up to the start of the later one.
            let begins = facts.start(*call).max(start);
            covered += (facts.end(*call).min(from) - begins).max(0);
            from = from.min(begins);
        }
        (covered, from)
    }
}

/// Claims waits for a call of a kind that is known to hold the lock.
pub(crate) fn held(facts: &Facts<'_>, holders: &Holders, call: CallId, parts: &mut Parts) {
    accuse(facts, holders, call, Suspicion::Strong, parts);
}

/// Claims waits during another thread's call that may hold a lock, or is as slow in the same stream: the threads contend for
/// the submission locks, and which one was first is unknown. Else claims a wait for a lock that the operating system's calls
/// show; its holder is unknown.
pub(crate) fn contended(facts: &Facts<'_>, holders: &Holders, call: CallId, parts: &mut Parts) {
    accuse(facts, holders, call, Suspicion::Contends, parts);
    if facts.locks_watched(call) {
        return;
    }
    for (start, end) in facts.lock_waits(call) {
        let reason = Reason::new(Cause::DriverLock, Evidence::Record, Confidence::Possible, Fact::LockCall);
        parts.claim(start, end, reason);
    }
}

/// Whether a call that waits for its own copy spent most of its time waiting for others.
fn is_waiter(facts: &Facts<'_>, call: CallId) -> bool {
    matches!(facts.class(call), Class::Copy { .. }) && facts.waits_for_gpu(call) && !facts.keeps_busy(call)
}

/// Claims a wait for calls of several threads that blocked the driver one after another: in seed 000's second listing a
/// launch of 8.28 s returns together with the second of two copies of other threads.
pub(crate) fn in_line(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    let waits = facts.class(call).enqueues() || facts.class(call) == Class::Allocate;
    if !waits || !parts.mostly_open() || facts.locks_watched(call) {
        return;
    }
    for turn in turns::before(facts, call, facts.start(call), facts.end(call)) {
        let reason = Reason::new(Cause::DriverLock, Evidence::Timing, Confidence::Possible, Fact::InLine);
        parts.claim(turn.from, turn.to, reason.held_by(turn.call));
    }
}

fn accuse(facts: &Facts<'_>, holders: &Holders, call: CallId, least: Suspicion, parts: &mut Parts) {
    let excess = facts.duration(call) - facts.usual(call);
    if facts.class(call) == Class::Sync || !parts.mostly_open() || excess <= 0 {
        return;
    }
    let tolerance = facts.tolerance(call);
    let near = holders.ending(facts, facts.end(call) - tolerance, facts.end(call) + tolerance);
    let mut suspects: Vec<_> = near
        .filter_map(|holder| {
            let suspicion = suspicion(facts, call, holder)?;
            let (covered, from) = holders.cover(facts, call, holder);
            let suspicion = match from > facts.start(call) + tolerance {
                true => suspicion_of_later(facts, call, suspicion)?,
                false => suspicion,
            };
            let waited = facts.end(call).min(facts.end(holder)) - facts.start(call);
            let covers = covered >= (waited - facts.usual(call)) / 100 * COVER_PERCENT
                && covered >= excess / 100 * EXCESS_PERCENT;
            (suspicion >= least && covers).then_some((suspicion, covered, from, holder))
        })
        .collect();
    // The strongest suspect; among equals the one that covers most, then the one that ends nearest.
    let distance = |holder: CallId| (facts.end(holder) - facts.end(call)).abs();
    suspects.sort_by_key(|(suspicion, covered, _, holder)| {
        (std::cmp::Reverse((*suspicion, *covered)), distance(*holder), *holder)
    });
    let Some(&(suspicion, _, from, nearest)) = suspects.first() else { return };
    let Some(longest) = holders.covering_most(facts, call, nearest, least) else { return };
    let side = |call: CallId| Side::of(facts, Stretch::Call(call));
    let holder = if side(nearest) == side(longest) { nearest } else { longest };
    let mut or: Vec<CallId> = Vec::new();
    for (other, _, _, suspect) in &suspects[1..] {
        let new_thread = |known: &CallId| facts.thread(*known) != facts.thread(*suspect);
        if *other == suspicion && new_thread(&holder) && or.iter().all(new_thread) {
            or.push(*suspect);
        }
    }
    let seen = facts.lock_waits(call).map(|(start, end)| end - start).sum::<Ns>() > excess / 2;
    let confidence = match suspicion {
        Suspicion::Strong if or.is_empty() => Confidence::Likely,
        _ => Confidence::Possible,
    };
    let fact = if seen { Fact::LockCall } else { Fact::None };
    let reason = Reason { or, ..Reason::new(Cause::DriverLock, Evidence::Timing, confidence, fact) };
    // The time after the holder's end, up to the usual cost of the call, is the call's own work.
    let own = (facts.end(call) - facts.end(nearest)).clamp(0, facts.usual(call));
    parts.claim(from, facts.end(call) - own, reason.held_by(holder));
}

/// The suspicion against calls that began well after `waiter`: it was already at work, or waited for another call. If
/// `waiter` is of a kind that holds the lock, it was at work and they waited for it: then `None`.
fn suspicion_of_later(facts: &Facts<'_>, waiter: CallId, suspicion: Suspicion) -> Option<Suspicion> {
    let holds = matches!(facts.class(waiter), Class::Allocate | Class::Release | Class::Load);
    (!holds).then_some(suspicion.min(Suspicion::Weak))
}

/// The suspicion against a call on another GPU. Most locks belong to a context: on an H200 no call on one GPU makes launches
/// on another one wait. A driver of 2022 has one lock for the launches of all GPUs of a process (seed 004: ten A4000s,
/// driver 525). With both drivers the creation of a context makes the set-up of other devices wait (107 ms on eight
/// H200s).
fn suspicion_across_devices(facts: &Facts<'_>, waiter: CallId, holder: CallId) -> Option<Suspicion> {
    let sets_up = |class| matches!(class, Class::Load | Class::Create | Class::Allocate);
    match (facts.class(waiter), facts.class(holder)) {
        (Class::Launch, Class::Launch) => Some(Suspicion::Contends),
        (waiter, Class::Create) if sets_up(waiter) => Some(Suspicion::Weak),
        _ => None,
    }
}

/// The suspicion that `waiter` waited for `holder`; `None` if there is none.
fn suspicion(facts: &Facts<'_>, waiter: CallId, holder: CallId) -> Option<Suspicion> {
    let same_process = facts.process(waiter) == facts.process(holder);
    if !same_process || facts.thread(waiter) == facts.thread(holder) {
        return None;
    }
    let (device, holder_device) = (facts.device(waiter), facts.device(holder));
    if device.is_some() && holder_device.is_some() && device != holder_device {
        return suspicion_across_devices(facts, waiter, holder);
    }
    let (stream, holder_stream) = (facts.stream(waiter), facts.stream(holder));
    let same_stream = stream.is_some() && stream == holder_stream;
    let waits_for_gpu =
        |blocking: bool| blocking || facts.copied(holder).is_some_and(|copied| copied.pageable());
    match facts.class(holder) {
        Class::Copy { blocking } if waits_for_gpu(blocking) => {
            // An allocation waits whatever the stream: cudaMalloc took 49.3 ms during another stream's pageable copy
            // of 49.8 ms and returned with it (H200).
            let allocates = matches!(facts.class(waiter), Class::Allocate | Class::Release);
            Some(if same_stream || allocates { Suspicion::Strong } else { Suspicion::Weak })
        }
        Class::Allocate | Class::Release | Class::Load => Some(Suspicion::Strong),
        Class::Create => Some(Suspicion::Weak),
        // A launch that loads its kernel holds the lock; without a record of the loading, a first launch may have been slow for another
        // reason.
        Class::Launch if profiler_overhead::loads_within(facts, holder) => Some(Suspicion::Strong),
        Class::Launch if facts.new_kernel(holder).is_some() => Some(Suspicion::Weak),
        Class::Launch | Class::Fill | Class::Copy { .. } => same_stream.then_some(Suspicion::Contends),
        _ => None,
    }
}
