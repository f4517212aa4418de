//! Threads that a finding is about.

use explain::{Finding, Loss, Party};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::{ThreadId, Trace};

/// Part of a thread in a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// It loses time.
    Waiter,
    /// It is waited for.
    Holder,
    /// It is waited for by those, or uses their GPU.
    Other,
}

impl Role {
    /// The word in the name of a thread.
    pub(super) fn word(self) -> &'static str {
        match self {
            Role::Waiter => "waiter",
            Role::Holder => "holder",
            Role::Other => "other",
        }
    }
}

/// Threads with their parts in a finding.
pub(super) type Chosen = BTreeMap<ThreadId, Role>;

/// The threads that a finding names, and those that they wait for.
pub(super) fn chosen(trace: &Trace, finding: &Finding, row: u32, losses: &[Loss]) -> Chosen {
    let mut known: FxHashMap<(i64, i64), ThreadId> = FxHashMap::default();
    for thread in trace.threads.ids() {
        let process = trace.threads.process[thread.index()].some();
        let pid = process.map_or(0, |process| trace.processes.pid[process.index()]);
        known.entry((pid, trace.threads.tid[thread.index()])).or_insert(thread);
    }
    let party = |party: &Party| (party.pid, party.tid);
    let waiters = finding.threads.iter().map(|waiter| (waiter.pid, waiter.tid));
    let waiters = waiters.chain([party(&finding.waiter)]).map(|of| (of, Role::Waiter));
    let holders = finding.holder.iter().chain(&finding.or).map(party);
    let holders = holders.chain(finding.chain.iter().map(|link| (link.pid, link.tid)));
    let mut chosen = Chosen::new();
    for (of, role) in waiters.chain(holders.map(|of| (of, Role::Holder))) {
        if let Some(thread) = known.get(&of) {
            chosen.entry(*thread).or_insert(role);
        }
    }
    let mine = losses.iter().filter(|loss| loss.finding == Some(row));
    for loss in mine {
        if let Some(thread) = loss.thread.some() {
            chosen.insert(thread, Role::Waiter);
        }
        if let Some(thread) = loss.holder.some() {
            chosen.entry(thread).or_insert(Role::Holder);
        }
    }
    // Those that the chosen ones wait for, whatever the cause, and those whose operations they wait for.
    let others: Vec<ThreadId> = losses
        .iter()
        .filter(|loss| chosen.contains_key(&loss.thread))
        .flat_map(|loss| [loss.holder, issuer(trace, loss)])
        .filter(|thread| thread.is_some())
        .collect();
    others.into_iter().for_each(|thread| _ = chosen.entry(thread).or_insert(Role::Other));
    chosen
}

/// The thread that issued the operation which a loss is a wait for.
fn issuer(trace: &Trace, loss: &Loss) -> ThreadId {
    let call = loss.awaited.some().and_then(|op| trace.ops.call[op.index()].some());
    call.map_or(ThreadId::NONE, |call| trace.calls.thread[call.index()])
}

/// All threads with calls; those that were chosen keep their parts.
pub(super) fn all(trace: &Trace, chosen: &Chosen) -> Chosen {
    let mut all = chosen.clone();
    let threads = trace.calls.thread.iter().filter_map(|thread| thread.some());
    threads.for_each(|thread| _ = all.entry(thread).or_insert(Role::Other));
    all
}
