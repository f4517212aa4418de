//! When threads hold a lock of the program that others wait for, which would put work into a GPU: as the recorded waits tell. A profiler
//! that does not say who held a lock shows who got it last while others still wait.

use super::segment::{Segment, is_for_work};
use super::sites::Sites;
use crate::facts::Facts;
use rustc_hash::FxHashMap;
use trace::{LockLayer, Ns, ProcessId, ThreadId, WaitId};

/// A time for which a thread holds a lock that another one waits for.
#[derive(Clone, Copy)]
struct Contended {
    start: Ns,
    end: Ns,
    wait: WaitId,
    /// When it got the lock, if it may have released it since then: before others waited, ns.
    got: Option<Ns>,
}

/// These times of each thread, by start.
pub(super) struct ContendedLocks(FxHashMap<ThreadId, Vec<Contended>>);

/// A thread that got a lock, and the wait that ended then.
type Got = (Ns, ThreadId, WaitId);

/// Most threads that may get a lock while another one waits for it, and most waits for it at a time, that are looked at.
const MOST: usize = 64;

impl ContendedLocks {
    pub fn of(facts: &Facts<'_>, sites: &Sites) -> ContendedLocks {
        let (trace, waits) = (facts.trace, &facts.trace.waits);
        let is_lock = |wait: &WaitId| {
            let at = wait.index();
            waits.layer[at] == LockLayer::Program
                && !is_for_work(waits.kind[at])
                && waits.thread[at].is_some()
        };
        let lock =
            |wait: WaitId| (trace.process_of_thread(waits.thread[wait.index()]), waits.lock[wait.index()]);
        let mut got = FxHashMap::<(ProcessId, i64), Vec<Got>>::default();
        for wait in trace.waits.ids().filter(is_lock) {
            let at = wait.index();
            got.entry(lock(wait)).or_default().push((waits.end[at], waits.thread[at], wait));
        }
        got.values_mut().for_each(|got| got.sort_unstable());
        let mut found = FxHashMap::<ThreadId, Vec<Contended>>::default();
        let asks = |wait: &WaitId| !facts.calls_by_thread()[waits.thread[wait.index()].index()].is_empty();
        for wait in trace.waits.ids().filter(is_lock).filter(asks) {
            for (by, held) in holders(facts, sites, wait, &got[&lock(wait)]) {
                found.entry(by).or_default().push(held);
            }
        }
        found.values_mut().for_each(|of| of.sort_unstable_by_key(|one| (one.start, one.wait)));
        ContendedLocks(found)
    }

    /// The wait for a lock that a thread holds for most of a segment. `since` is the end of its last call before that: it has made none since
    /// it got the lock.
    pub fn held_in(&self, thread: ThreadId, segment: &Segment, since: Ns) -> Option<WaitId> {
        let of = self.0.get(&thread)?;
        let holds = |one: &&Contended| one.got.is_none_or(|got| got >= since);
        let within = of[..of.partition_point(|one| one.start < segment.end)].iter().rev().filter(holds);
        let part = |one: &Contended| one.end.min(segment.end) - one.start.max(segment.start);
        let longest = within.take(MOST).max_by_key(|one| part(one))?;
        (part(longest) * 2 > segment.length()).then_some(longest.wait)
    }
}

/// Holders of a lock in parts of a wait for it; of all that `got` it, by time.
fn holders(facts: &Facts<'_>, sites: &Sites, wait: WaitId, got: &[Got]) -> Vec<(ThreadId, Contended)> {
    let row = facts.trace.waits.row(wait);
    let end = row.end - row.handoff;
    let first = got.partition_point(|(at, ..)| *at <= row.start);
    let during = got[first..].iter().take_while(|(at, ..)| *at < end).take(MOST);
    if let Some(by) = row.releaser.some().or(row.holder.some()) {
        // It holds the lock since its own last wait for it ended.
        let since = during.filter(|(_, thread, _)| *thread == by).map(|(at, ..)| *at).last();
        return vec![(by, Contended { start: since.unwrap_or(row.start), end, wait, got: None })];
    }
    let spot = |wait: WaitId| sites.of_stack(facts.trace.waits.stack[wait.index()].some()?);
    let here = spot(wait);
    let is_here = |got: &&Got| got.1 != row.thread && spot(got.2) == here;
    let before = got[..first].last().filter(is_here);
    let others: Vec<&Got> = before.into_iter().chain(during.filter(is_here)).collect();
    let next = others.iter().skip(1).map(|(at, ..)| *at).chain([end]);
    let held = |((at, by, _), end): (&&Got, Ns)| {
        (*by, Contended { start: row.start.max(*at), end, wait, got: (*at <= row.start).then_some(*at) })
    };
    others.iter().zip(next).map(held).collect()
}
