//! `driver-lock` and `application-lock` as recorded: a thread waited for a lock, in a call or outside, and another thread
//! held it.

use super::{owners, sharers};
use crate::analysis::group::{Groups, Key, add};
use crate::analysis::parts::{Fact, Holder, Part, Parts, Reason};
use crate::facts::Facts;
use crate::facts::stretch::Stretch;
use crate::result::loss::Loss;
use crate::rules::{implicit_device_sync, pageable_order};
use crate::{Cause, Confidence, Evidence};
use rustc_hash::FxHashMap;
use trace::{CallId, Ns, Sym, ThreadId, Wait, WaitId};
use waits::{Class, lock_waits};

/// Claims the waits recorded within a call. Time that the call waits for the GPU anyway is not lost to a lock.
pub(crate) fn split(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    within(facts, call, parts);
}

fn within(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    let mut waits = facts.waits(call).peekable();
    let done = waits.peek().and_then(|_| done(facts, call)).unwrap_or(Ns::MIN);
    for id in waits {
        for (from, to, reason) in reasons(facts, Stretch::Call(call), id) {
            parts.claim(from.max(done), to, reason);
        }
    }
}

/// The time at which the GPU finished the work that a synchronizing call, a free or a blocking copy waits for anyway;
/// `None` where operations do not prove it.
fn done(facts: &Facts<'_>, call: CallId) -> Option<Ns> {
    if !facts.one_clock() {
        return None;
    }
    match facts.class(call) {
        Class::Sync => {
            facts.synced(call).into_iter().filter_map(|stream| facts.done(stream, facts.start(call))).max()
        }
        Class::Copy { .. } if facts.waits_for_gpu(call) => facts.free_to_copy(call).map(|(_, free)| free),
        Class::Release => implicit_device_sync::idle(facts, call),
        _ => None,
    }
}

/// Part of a long wait, in percent, that one holder must cover to account for all of it, or several holders together for
/// each to account for its part.
const COVER_PERCENT: Ns = 80;

/// The reasons why a wait in a slow call took long: one, or one for each of several threads that held the lock in turn.
fn reasons(facts: &Facts<'_>, waiter: Stretch, id: WaitId) -> Vec<(Ns, Ns, Reason)> {
    let wait = facts.trace.waits.row(id);
    let whole = reason_of(facts, waiter, id, &wait);
    let much = (wait.end - wait.start) / 100 * COVER_PERCENT;
    let split = match whole.fact {
        Fact::Waited { covered, shared, .. } => covered < much && !shared && facts.is_long(Stretch::Wait(id)),
        _ => false,
    };
    if !split || handed_on(facts, &wait) {
        return vec![(wait.start, wait.end, whole)];
    }
    let owners = owners::during(facts, &wait);
    if owners.len() < 2 || owners.iter().map(|owner| owner.to - owner.from).sum::<Ns>() < much {
        return vec![(wait.start, wait.end, whole)];
    }
    let part = |owner: &owners::Owner| {
        let time = owner.to - owner.from;
        let fact = Fact::Waited { wait: id, time, covered: time, shared: false };
        let cause = cause(facts, &wait, waiter, owner.holder);
        let sure = if owner.holder == Holder::Nobody { Confidence::Possible } else { Confidence::Likely };
        let reason = Reason::new(cause, Evidence::Lock, sure, fact);
        (owner.from, owner.to, Reason { holder: owner.holder, ..reason })
    };
    owners.iter().map(part).collect()
}

/// Smallest part of a thread's span that becomes a finding, as a divisor: 1 in 100. It holds for the short waits in calls
/// of one name, and for those for one library's locks outside calls. Launch rates of one program differ by more than a
/// hundredth from run to run (H200).
const LEAST_PART: Ns = 100;

/// The waits in no slow call: long ones outside calls, and short ones, in calls and outside, where they add up. With 16
/// launching threads 347,288 waits took 4.3 s together on an H200, none of them long.
pub(crate) fn elsewhere(facts: &Facts<'_>) -> impl Iterator<Item = (Stretch, Vec<Part>)> {
    let waiting = move || waiting(facts);
    let kind = |stretch: Stretch, part: &Part| kind(facts, stretch, part);
    let mut sums = FxHashMap::<_, Ns>::default();
    for stretch in waiting().filter(|stretch| !facts.is_long(*stretch)) {
        for part in waits_of(facts, stretch) {
            let sum = sums.entry(kind(stretch, &part)).or_default();
            *sum = sum.saturating_add(part.lost);
        }
    }
    // There may be millions of waits: they are computed again, not stored.
    waiting().filter_map(move |stretch| {
        let least = least(facts, stretch.thread(facts.trace));
        let mut parts = waits_of(facts, stretch);
        parts.retain(|part| facts.is_long(stretch) || sums[&kind(stretch, part)] >= least);
        (!parts.is_empty()).then_some((stretch, parts))
    })
}

/// Adds what [`elsewhere`] finds to groups of which only the sums matter, and looks at each wait once.
pub(crate) fn add_sums_elsewhere(facts: &Facts<'_>, groups: &mut Groups) {
    let mut sums = FxHashMap::<_, Ns>::default();
    let mut short = FxHashMap::<_, Ns>::default();
    for stretch in waiting(facts) {
        let parts = waits_of(facts, stretch);
        if facts.is_long(stretch) {
            groups.add(facts, stretch, parts);
            continue;
        }
        for part in parts {
            let kind = kind(facts, stretch, &part);
            add(sums.entry(kind).or_default(), part.lost);
            let key = (kind, Key::of(facts, stretch, &part.reason), part.reason.evidence);
            add(short.entry(key).or_default(), part.lost);
        }
    }
    for ((kind, key, evidence), lost) in short {
        if sums[&kind] >= least(facts, kind.0) {
            groups.add_sum(key, evidence, lost);
        }
    }
}

/// Calls that are not slow and have waits, and waits outside calls.
fn waiting<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = Stretch> + 'f {
    let is_slow = |stretch: Stretch| stretch.call().is_some_and(|call| facts.is_slow(call));
    facts.waiting().filter(move |at| !is_slow(*at) && facts.is_chosen(*at))
}

/// Thread, name and cause of the parts of short waits that are added up.
type Kind = (ThreadId, Sym, Cause);

fn kind(facts: &Facts<'_>, stretch: Stretch, part: &Part) -> Kind {
    (stretch.thread(facts.trace), stretch.name(facts.trace), part.reason.cause)
}

/// The least sum of a thread's short waits of one kind that counts, ns.
fn least(facts: &Facts<'_>, thread: ThreadId) -> Ns {
    facts.chosen_span(thread) / LEAST_PART
}

fn waits_of(facts: &Facts<'_>, stretch: Stretch) -> Vec<Part> {
    let (start, end) = (stretch.start(facts.trace), stretch.end(facts.trace));
    let mut parts = Parts::new(start, end);
    match stretch {
        Stretch::Call(call) => within(facts, call, &mut parts),
        Stretch::Wait(id) => parts.claim(start, end, reason(facts, stretch, id)),
    }
    parts.claimed
}

/// The reason why a wait took long. A holder whose call covers less than half of the wait handed the lock on: to a
/// similar call if the last releaser was in a call of the same name, else to an unknown thread.
pub(crate) fn reason(facts: &Facts<'_>, waiter: Stretch, id: WaitId) -> Reason {
    reason_of(facts, waiter, id, &facts.trace.waits.row(id))
}

fn reason_of(facts: &Facts<'_>, waiter: Stretch, id: WaitId, wait: &Wait) -> Reason {
    let alike = handed_on(facts, wait);
    let one = alike || wait.holder == wait.releaser;
    let Blamed { mut holder, mut covered, other } = blamed(facts, wait, one);
    let half = covered >= (wait.end - wait.start) / 2;
    if !half && sharers::had_it(facts, wait) {
        return of_sharers(facts, wait, waiter, id);
    }
    // A thread that held the lock for less than a third, and handed it to an unknown thread, did not cause the wait.
    if !alike && matches!(holder, Holder::Call(_)) && covered < (wait.end - wait.start) / 3 {
        (holder, covered) = (Holder::Nobody, 0);
    }
    // If another thread in another kind of call held the lock too, one of them must cover nearly all of the wait.
    let alone = other.is_none_or(|(_, others)| nearly_all(wait, covered - others));
    let confidence = match holder {
        Holder::Nobody => Confidence::Possible,
        Holder::Call(_) if half && alone => Confidence::Certain,
        Holder::Call(_) if half || alike => Confidence::Likely,
        Holder::Thread(_) if alone => Confidence::Certain,
        Holder::Call(_) | Holder::Thread(_) => Confidence::Possible,
    };
    let fact = Fact::Waited { wait: id, time: wait.end - wait.start, covered, shared: false };
    let or = match other {
        Some((Holder::Call(call), others)) if !alone && others >= (wait.end - wait.start) / 3 => vec![call],
        _ => Vec::new(),
    };
    let cause = cause(facts, wait, waiter, holder);
    Reason { holder, or, ..Reason::new(cause, Evidence::Lock, confidence, fact) }
}

/// The reason for a wait for sharers. It names the thread that released the lock last: that release ended the wait.
fn of_sharers(facts: &Facts<'_>, wait: &Wait, waiter: Stretch, id: WaitId) -> Reason {
    let (holder, covered) = match suspect(facts, wait, wait.releaser, wait.releaser_call, wait.start) {
        (Holder::Nobody, _) => suspect(facts, wait, wait.holder, wait.holder_call, wait.start),
        last => last,
    };
    let confidence = match holder {
        Holder::Call(call) if sharers::kept_on(facts, wait, call) => Confidence::Likely,
        _ => Confidence::Possible,
    };
    let fact = Fact::Waited { wait: id, time: wait.end - wait.start, covered, shared: true };
    let cause = cause(facts, wait, waiter, holder);
    Reason { holder, ..Reason::new(cause, Evidence::Lock, confidence, fact) }
}

/// Whether `covered` is so much of a wait that any other thread held the lock only for a moment.
fn nearly_all(wait: &Wait, covered: Ns) -> bool {
    covered >= (wait.end - wait.start) / 10 * 9
}

/// Whether the first and the last holder of the lock were in calls of one name, as in a convoy of launches.
fn handed_on(facts: &Facts<'_>, wait: &Wait) -> bool {
    let name = |call: CallId| facts.outermost(call).some().map(|call| facts.trace.calls.name[call.index()]);
    let (first, last) = (name(wait.holder_call), name(wait.releaser_call));
    first.is_some() && first == last
}

/// The cause of a recorded wait: the tracer if it held the lock, else by the library that owns the lock: the driver or one
/// above it.
fn cause(facts: &Facts<'_>, wait: &Wait, waiter: Stretch, holder: Holder) -> Cause {
    let thread = match holder {
        Holder::Call(call) => facts.thread(call),
        Holder::Thread(thread) => thread,
        Holder::Nobody => ThreadId::NONE,
    };
    if facts.is_tracer(thread) {
        return Cause::ProfilerOverhead;
    }
    if !facts.library(wait.library).starts_with("libcuda.so") {
        return Cause::ApplicationLock;
    }
    match (waiter, holder) {
        (Stretch::Call(call), Holder::Call(other)) if pageable_order::orders(facts, call, other) => {
            Cause::PageableOrder
        }
        _ => Cause::DriverLock,
    }
}

/// A thread that may have held a lock during a wait, and how much of the wait its call covers, ns; and another such thread.
struct Blamed {
    holder: Holder,
    covered: Ns,
    other: Option<(Holder, Ns)>,
}

/// The holder when the wait began; or the last releaser, if it held the lock for more of the wait and the first holder not
/// for nearly all of it.
///
/// `one`: both are one thread, or were in calls of one name.
fn blamed(facts: &Facts<'_>, wait: &Wait, one: bool) -> Blamed {
    let last = facts.outermost(wait.releaser_call);
    let got = match last.some() {
        Some(call) if !one => owners::got(facts, wait, call),
        _ => Ns::MIN,
    };
    let first = suspect(facts, wait, wait.holder, wait.holder_call, wait.start);
    let last = suspect(facts, wait, wait.releaser, wait.releaser_call, got);
    let brief = match one {
        true => first.1 < (wait.end - wait.start) / 2,
        false => !nearly_all(wait, first.1),
    };
    let ((holder, covered), other) = match (first.0, last) {
        // A call that ended before the wait began released the lock for an earlier waiter.
        (_, (Holder::Nobody, _) | (Holder::Call(_), 0)) => (first, None),
        (Holder::Nobody, _) => (last, None),
        _ if brief && last.1 > first.1 => (last, Some(first)),
        _ => (first, Some(last)),
    };
    Blamed { holder, covered, other: other.filter(|_| !one) }
}

/// A thread that held the lock, and how much of the wait its call covers from `since` on, ns.
fn suspect(facts: &Facts<'_>, wait: &Wait, thread: ThreadId, call: CallId, since: Ns) -> (Holder, Ns) {
    if thread.is_none() || thread == wait.thread {
        return (Holder::Nobody, 0);
    }
    let Some(call) = facts.outermost(call).some() else { return (Holder::Thread(thread), 0) };
    let covered = facts.end(call).min(wait.end) - facts.start(call).max(wait.start).max(since);
    (Holder::Call(call), covered.max(0))
}

/// Adds the recorded waits that are not yet among `losses`, so that each is there once.
pub(crate) fn add_other_losses(facts: &Facts<'_>, losses: &mut Vec<Loss>) {
    let mut known = vec![false; facts.trace.waits.len()];
    for wait in losses.iter().filter_map(|loss| loss.wait.some()) {
        known[wait.index()] = true;
    }
    for wait in lock_waits(facts.trace).filter(|wait| !known[wait.index()]) {
        let call = facts.outermost(facts.trace.waits.call[wait.index()]);
        let stretch = call.some().map_or(Stretch::Wait(wait), Stretch::Call);
        let reason = reason(facts, stretch, wait);
        let part = Part { reason, lost: 0, from: 0, to: 0 };
        losses.push(Loss::of(facts.trace, stretch, &part));
    }
}
