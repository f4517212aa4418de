//! Waits of threads outside of calls: for another thread, which ends the wait at a moment of its own.

use super::endings::endings;
use super::exits::exits;
use super::lives::{lasts, lives};
use super::loops::{Rounds, loops};
use super::signal::{Signal, SignalKind};
use super::turns::turns;
use crate::calls::CallOrder;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{Api, LockKind, Ns, ThreadId, Trace, WaitId};

/// Waits of threads for other threads.
pub struct Signals {
    /// In order of their start.
    pub all: Vec<Signal>,
    /// Waits that were given up, each with the row of the signal that would have ended it.
    pub given_up: Vec<(WaitId, u32)>,
    /// Threads that loop until they are told to end: the row of that signal, and where they look.
    pub loops: FxHashMap<ThreadId, (u32, Rounds)>,
}

impl Signals {
    /// The waits of a trace.
    pub fn of(trace: &Trace, order: &CallOrder<'_>) -> Signals {
        let mut all: Vec<Signal> = trace.waits.ids().filter_map(|wait| of_wait(trace, order, wait)).collect();
        let lasts = lasts(trace, &all);
        let lives = lives(trace, &all, &lasts);
        let endings = endings(order, &lasts, &lives);
        let (told, rounds): (Vec<Signal>, Vec<Rounds>) =
            loops(trace, order, &all, &lasts, &lives, &endings).into_iter().unzip();
        all.extend(endings);
        all.extend(&told);
        all.extend(turns(trace, order));
        all.extend(exits(trace, order, &all));
        all.extend(births(trace, order, &all));
        all.sort_by_key(|signal| (signal.start, signal.end));
        before_waits(trace, &mut all);
        let given_up = given_up(trace, order, &all);
        let row =
            |told: &Signal| all.iter().position(|of| of.kind == SignalKind::Told && of.waiter == told.waiter);
        let rows =
            told.iter().zip(rounds).filter_map(|(of, rounds)| Some((of.waiter, (row(of)? as u32, rounds))));
        let loops = rows.collect();
        Signals { all, given_up, loops }
    }
}

/// A thread that ends another one's wait while it waits itself did so as its wait began: what it waits for may need the other.
fn before_waits(trace: &Trace, signals: &mut [Signal]) {
    let mut waits: Vec<Vec<(Ns, Ns)>> = vec![Vec::new(); trace.threads.len()];
    for signal in signals.iter() {
        waits[signal.waiter.index()].push((signal.start, signal.end));
    }
    for signal in signals {
        let of = &waits[signal.by.index()];
        let after = of.partition_point(|(start, _)| *start < signal.at);
        // Waits within waits are few.
        let around = of[..after].iter().rev().take(4).filter(|(_, end)| signal.at < *end);
        signal.at = around.map(|(start, _)| *start).min().unwrap_or(signal.at);
    }
}

/// Whether a wait is in no call of CUDA's: in none, or in one of the system's library that does nothing but wait.
fn is_by_itself(trace: &Trace, wait: WaitId) -> bool {
    let call = trace.waits.call[wait.index()].some();
    call.is_none_or(|call| trace.calls.api[call.index()] == Api::Os)
}

fn of_wait(trace: &Trace, order: &CallOrder<'_>, wait: WaitId) -> Option<Signal> {
    let (waits, at) = (&trace.waits, wait.index());
    let (waiter, by) = (waits.thread[at].some()?, waits.releaser[at].some()?);
    let (start, end) = (waits.start[at], waits.end[at]);
    let same_process = trace.process_of_thread(waiter) == trace.process_of_thread(by);
    // The locks of CUDA within calls are the model's.
    let outside = is_by_itself(trace, wait) && order.call_at(waiter, start).is_none();
    let moment = within_no_call(trace, order, by, (end - waits.handoff[at]).max(start));
    let kind = SignalKind::Wait;
    (outside && same_process && waiter != by).then_some(Signal {
        kind,
        wait,
        waiter,
        by,
        start,
        end,
        at: moment,
    })
}

/// The waits that were given up: threads that wait for a condition or a semaphore again and again, for so long each time, until it is met.
/// Each with the row of the signal that met it; `signals` are in order of their start.
fn given_up(trace: &Trace, order: &CallOrder<'_>, signals: &[Signal]) -> Vec<(WaitId, u32)> {
    let waits = &trace.waits;
    let mut met: FxHashMap<(ThreadId, LockKind, i64), Vec<(Ns, u32)>> = FxHashMap::default();
    for (number, signal) in (0..).zip(signals) {
        if let Some(wait) = signal.wait.some().map(WaitId::index) {
            let of = (signal.waiter, waits.kind[wait], waits.lock[wait]);
            met.entry(of).or_default().push((signal.start, number));
        }
    }
    let given_up = |wait: WaitId| {
        let at = wait.index();
        let (thread, start) = (waits.thread[at].some()?, waits.start[at]);
        let can_be = matches!(waits.kind[at], LockKind::Condition | LockKind::Semaphore);
        let outside = is_by_itself(trace, wait) && order.call_at(thread, start).is_none();
        let of = met.get(&(thread, waits.kind[at], waits.lock[at]))?;
        let (_, signal) = of.get(of.partition_point(|(met, _)| *met < waits.end[at]))?;
        (can_be && outside && waits.releaser[at].is_none()).then_some((wait, *signal))
    };
    waits.ids().filter_map(given_up).collect()
}

/// A moment of a thread outside of its calls: steps take effect between calls.
pub fn within_no_call(trace: &Trace, order: &CallOrder<'_>, thread: ThreadId, at: Ns) -> Ns {
    order.call_at(thread, at).map_or(at, |call| trace.calls.start[call.index()])
}

/// A thread begins when the first thread of its process, which has to come to that moment, makes it begin.
fn births(trace: &Trace, order: &CallOrder<'_>, signals: &[Signal]) -> Vec<Signal> {
    let involved: FxHashSet<ThreadId> =
        signals.iter().flat_map(|signal| [signal.waiter, signal.by]).collect();
    let first = |thread: ThreadId| {
        let call = order.of_thread(thread).first().map(|call| trace.calls.start[call.index()]);
        let waits = signals.iter().filter(|signal| signal.waiter == thread).map(|signal| signal.start);
        // It ends another thread's wait after it began.
        let ends = signals.iter().filter(|signal| signal.by == thread).map(|signal| signal.at - 1);
        call.into_iter().chain(waits).chain(ends).min()
    };
    let mut firsts: Vec<(ThreadId, Ns)> = Vec::new();
    for thread in trace.threads.ids() {
        if !order.of_thread(thread).is_empty() || involved.contains(&thread) {
            firsts.extend(first(thread).map(|at| (thread, at)));
        }
    }
    let parent = |thread: ThreadId| {
        let process = trace.process_of_thread(thread);
        let peers = firsts.iter().filter(|(other, _)| trace.process_of_thread(*other) == process);
        peers.min_by_key(|(_, at)| *at).copied()
    };
    let birth = |(thread, at): &(ThreadId, Ns)| {
        let (parent, _) = parent(*thread).filter(|(parent, _)| parent != thread)?;
        let moment = within_no_call(trace, order, parent, *at);
        let (kind, wait) = (SignalKind::Birth, WaitId::NONE);
        Some(Signal { kind, wait, waiter: *thread, by: parent, start: *at, end: *at, at: moment })
    };
    firsts.iter().filter_map(birth).collect()
}
