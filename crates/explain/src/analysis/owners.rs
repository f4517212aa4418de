//! The threads that held a lock during a long wait for it, from all recorded waits for that lock: each records the holder
//! when it began and the releaser when it ended.

use crate::analysis::parts::Holder;
use crate::facts::Facts;
use trace::{CallId, Ns, Wait};

/// The holder of the lock for a part of a wait.
pub(super) struct Owner {
    pub holder: Holder,
    pub from: Ns,
    pub to: Ns,
}

/// Most waits examined within one.
const MOST: usize = 1_000;

/// The holders of the lock during `wait`, in order, without overlap and without a gap between the first and the last.
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
        // The lock needs a moment to go from one holder to the next.
        let from = if from - after <= (wait.end - wait.start) / 100 { after } else { from };
        if from < to {
            owners.extend(between(facts, call, after, from));
            owners.push(Owner { holder: Holder::Call(call), from, to });
        }
    }
    owners
}

/// The holder of the lock from `from` to `to`, when `next` acquired it: the previous call of the same thread if it takes
/// nearly all of that time, else unknown.
fn between(facts: &Facts<'_>, next: CallId, from: Ns, to: Ns) -> Option<Owner> {
    let before = facts.previous(next).filter(|call| {
        let covered = facts.end(*call).min(to) - facts.start(*call).max(from);
        covered > (to - from) / 10 * 9
    });
    let holder = before.map_or(Holder::Nobody, Holder::Call);
    (to > from).then_some(Owner { holder, from, to })
}

/// The time at which a call acquired the lock, from its own recorded waits; `Ns::MIN` if it recorded none.
pub(super) fn got(facts: &Facts<'_>, wait: &Wait, call: CallId) -> Ns {
    let waits = facts.waits(call).map(|id| facts.trace.waits.row(id));
    let before = waits.filter(|own| own.lock == wait.lock && own.end <= wait.end);
    before.map(|own| own.end).max().unwrap_or(Ns::MIN)
}
