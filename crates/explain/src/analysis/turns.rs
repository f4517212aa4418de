//! A call that waited behind others that keep the driver, one after another, told by when they return: copies of pageable
//! memory, and frees that wait for the device.

use crate::facts::Facts;
use trace::{CallId, Ns};

/// Shortest time between the return of one call and the start of what waited for it that is taken for a handover: on an
/// H200 pageable copies of several threads start 51 to 113 µs after the call before them returned.
const HANDOVER: Ns = 250_000;

/// Longest such time: in seed 000's second listing, on a P100 under nvprof, 1.1 to 3.4 ms after waits of 4.5 and 6 s.
const LONG_HANDOVER: Ns = 5_000_000;

/// Part of a wait, in percent, that they must cover.
const COVER_PERCENT: Ns = 80;

/// Calls that a wait is followed back through.
const MOST: usize = 16;

/// A call that others waited for, and when.
pub(crate) struct Turn {
    pub call: CallId,
    pub from: Ns,
    pub to: Ns,
}

/// Most that may lie between the end of one thing and the start of what waited `waited` ns for it.
pub(crate) fn handover(waited: Ns) -> Ns {
    (waited / 100).clamp(HANDOVER, LONG_HANDOVER).min(waited / 10)
}

/// The calls of other threads behind which `waiter` waited from `from` to `until`, the last first: each ends where the
/// next turn begins, and spent its time on the GPU's work and not on waiting for others. None where they leave much of
/// the wait open.
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

/// Who kept the driver until `to`: of the copies that return then the one that began first, else of the frees.
fn last(facts: &Facts<'_>, waiter: CallId, from: Ns, to: Ns, slack: Ns) -> Option<CallId> {
    let (earliest, latest) = (to.saturating_sub(slack).max(from), to.saturating_add(slack));
    let began = |call: &CallId| (facts.start(*call).max(from), *call);
    let fits = |call: &CallId| facts.is_beside(waiter, *call) && facts.start(*call) < to;
    let copies = facts.pageable_copies(earliest, latest).filter(|call| fits(call) && facts.keeps_busy(*call));
    let frees = || facts.slow_frees(earliest, latest).filter(fits).min_by_key(began);
    copies.min_by_key(began).or_else(frees)
}
