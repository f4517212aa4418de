//! Threads that are told to end: they sleep, nobody knows for what, until a thread tells them that then waits for their end, or for the last
//! thing that they do.
//!
//! DDP's threads for sockets are told by a byte, by a closed connection or by a flag, which their `poll` sees within 0.5 s; threads of
//! PyTorch's autograd that computed nothing count themselves off (two H100, PyTorch 2.11, NCCL). If they went on at a time of their own, a
//! thread that waits for them would end no earlier whatever changes.

use super::lives::Life;
use super::signal::{Signal, SignalKind};
use crate::calls::CallOrder;
use rustc_hash::FxHashMap;
use trace::{Ns, ThreadId, WaitId};

/// The moments at which threads are told to end. A thread goes on after the last sleep that was as long as all that followed: one that
/// waits for something else mostly has more to do then.
pub fn endings(order: &CallOrder<'_>, lasts: &[&Signal], lives: &FxHashMap<ThreadId, Life>) -> Vec<Signal> {
    let mut endings: FxHashMap<ThreadId, Signal> = FxHashMap::default();
    for last in lasts {
        let (thread, life) = (last.by, &lives[&last.by]);
        let cut = |(from, until): &(Ns, Ns)| {
            let told = (*until).min(last.start);
            (life.last_event(order, thread, told).max(*from), told)
        };
        let end = life.end.max(last.end);
        let mut sleeps = life.sleeps.iter().rev().map(cut);
        let Some((start, told)) = sleeps.find(|(from, told)| told - from >= end - told) else { continue };
        let (wait, by, kind) = (WaitId::NONE, last.waiter, SignalKind::Told);
        let ending = Signal { wait, waiter: thread, by, start, end: told, at: told, kind };
        let first = endings.entry(thread).or_insert(ending);
        if told < first.at {
            *first = ending;
        }
    }
    endings.into_values().collect()
}
