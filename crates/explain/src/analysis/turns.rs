//! Calls that waited for others that block the driver one after another, found by when those return: copies of pageable
//! memory, and frees that wait for the device.

use crate::facts::Facts;
use trace::{CallId, Ns};

/// Longest handover after a short wait, ns: the time between the return of one call and the start of what waited for it.
/// On an H200 pageable copies of several threads start 51 to 113 µs after the call before them returned.
const HANDOVER: Ns = 250_000;

/// Longest handover at all, ns: in seed 000's second listing, on a P100 under nvprof, 1.1 to 3.4 ms after waits of 4.5 and
/// 6 s.
const LONG_HANDOVER: Ns = 5_000_000;

/// Part of a wait, in percent, that the calls must cover.
const COVER_PERCENT: Ns = 80;

/// Most calls that a wait is followed back through.
const MOST: usize = 16;

/// A call that others waited for, and when.
pub(crate) struct Turn {
    pub call: CallId,
    pub from: Ns,
    pub to: Ns,
}

/// Most time between the end of a call and the start of what waited `waited` ns for it, ns.
pub(crate) fn handover(waited: Ns) -> Ns {
    (waited / 100).clamp(HANDOVER, LONG_HANDOVER).min(waited / 10)
}

/// The calls of other threads that `waiter` waited for from `from` to `until`, the last first: each ends where the next
/// turn begins, and spent its time on the GPU's work, not on waiting for others. Empty if they cover too little of the
/// wait.
pub(crate) fn before(facts: &Facts<'_>, waiter: CallId, from: Ns, until: Ns) -> Vec<Turn> {
    let slack = handover(until - from);
    let mut turns: Vec<Turn> = Vec::new();
    let mut to = until;
    while to > from && turns.len() < MOST {
        let Some(call) = last(facts, waiter, from, to, slack) else { break };
        let began = facts.start(call).max(from);
        turns.push(Turn { call, from: began, to });
        to = began;
    }
    let covered = turns.iter().map(|turn| turn.to - turn.from).sum::<Ns>();
    match covered >= (until - from) / 100 * COVER_PERCENT {
        true => turns,
        false => Vec::new(),
    }
}

/// The call that blocked the driver until `to`: the copy that returns then and began first, else such a free.
fn last(facts: &Facts<'_>, waiter: CallId, from: Ns, to: Ns, slack: Ns) -> Option<CallId> {
    let (earliest, latest) = (to.saturating_sub(slack).max(from), to.saturating_add(slack));
    let began = |call: &CallId| (facts.start(*call).max(from), *call);
    let fits = |call: &CallId| facts.is_beside(waiter, *call) && facts.start(*call) < to;
    let copies = facts.pageable_copies(earliest, latest).filter(|call| fits(call) && facts.keeps_busy(*call));
    let frees = || facts.slow_frees(earliest, latest).filter(fits).min_by_key(began);
    copies.min_by_key(began).or_else(frees)
}
