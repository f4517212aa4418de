//! Who had a lock during a long wait for it, as all recorded waits for it tell: each says who had it when it began, and
//! who released it when it ended.

use crate::facts::Facts;
use crate::parts::Holder;
use trace::{CallId, Ns, Wait};

/// Who had the lock for a part of a wait.
pub(super) struct Owner {
    pub holder: Holder,
    pub from: Ns,
    pub to: Ns,
}

/// Waits within one that are looked at.
const MOST: usize = 1_000;

/// Who had the lock during `wait`, in order, without overlap and without a gap between the first and the last.
pub(super) fn during(facts: &Facts<'_>, wait: &Wait) -> Vec<Owner> {
    let mut seen = vec![(wait.start, facts.outermost(wait.holder_call))];
    for other in facts.waits_for_lock(wait).take(MOST) {
        seen.push((other.start, facts.outermost(other.holder_call)));
        if other.end < wait.end {
            seen.push((other.end - 1, facts.outermost(other.releaser_call)));
        }
    }
    seen.push((wait.end - 1, facts.outermost(wait.releaser_call)));
    seen.retain(|(_, call)| call.is_some() && facts.thread(*call) != wait.thread);
    seen.sort_by_key(|(time, _)| *time);
    seen.dedup_by_key(|(_, call)| *call);
    let mut owners: Vec<Owner> = Vec::new();
    for (_, call) in seen {
        let after = owners.last().map_or(wait.start, |last| last.to);
        let from = facts.start(call).max(got(facts, wait, call)).max(after);
        let to = facts.end(call).min(wait.end);
        // It takes a moment to go from one to the next.
        let from = if from - after <= (wait.end - wait.start) / 100 { after } else { from };
        if from < to {
            owners.extend(between(facts, call, after, from));
            owners.push(Owner { holder: Holder::Call(call), from, to });
        }
    }
    owners
}

/// Who had the lock from `from` to `to`, when `next` did: the call of the same thread before it, where that one takes nearly
/// all of the time, else nobody knows who.
fn between(facts: &Facts<'_>, next: CallId, from: Ns, to: Ns) -> Option<Owner> {
    let before = facts.previous(next).filter(|call| {
        let covered = facts.end(*call).min(to) - facts.start(*call).max(from);
        covered > (to - from) / 10 * 9
    });
    let holder = before.map_or(Holder::Nobody, Holder::Call);
    (to > from).then_some(Owner { holder, from, to })
}

/// When a call got the lock, as its own waits for it tell.
pub(super) fn got(facts: &Facts<'_>, wait: &Wait, call: CallId) -> Ns {
    let waits = facts.waits(call).map(|id| facts.trace.waits.row(id));
    let before = waits.filter(|own| own.lock == wait.lock && own.end <= wait.end);
    before.map(|own| own.end).max().unwrap_or(Ns::MIN)
}
