//! Threads that are told to end: they sleep, nobody knows for what, until the thread that then waits for their end tells them.
//!
//! DDP's threads for sockets are told by a byte, by a closed connection or by a flag, which their `poll` sees within 0.5 s (two H100,
//! PyTorch 2.11, NCCL). If they went on at a time of their own, a thread that waits for their end would end no earlier whatever changes.

use crate::signals::Signal;
use crate::threads::Threads;
use rustc_hash::FxHashMap;
use trace::{LockKind, Ns, ThreadId, Trace, WaitId};

/// System calls that end at a time of their own, whatever another thread does.
const SLEEPS: [&str; 2] = ["nanosleep", "clock_nanosleep"];

/// The moments at which threads are told to end. A thread goes on after the last sleep that was as long as all that followed: one that
/// waits for something else mostly has more to do then.
pub(crate) fn endings(trace: &Trace, threads: &Threads, signals: &[Signal]) -> Vec<Signal> {
    let is_join = |signal: &&Signal| {
        signal.wait.some().is_some_and(|wait| trace.waits.kind[wait.index()] == LockKind::Join)
    };
    let joins: Vec<&Signal> = signals.iter().filter(is_join).collect();
    let lives = lives(trace, signals, &joins);
    let ending = |join: &&Signal| {
        let (thread, life) = (join.by, &lives[&join.by]);
        let cut = |(from, until): &(Ns, Ns)| {
            let told = (*until).min(join.start);
            (life.last_event(trace, threads, thread, told).max(*from), told)
        };
        let mut sleeps = life.sleeps.iter().rev().map(cut);
        let (start, told) = sleeps.find(|(from, told)| told - from >= join.end - told)?;
        Some(Signal { wait: WaitId::NONE, waiter: thread, by: join.waiter, start, end: told, at: told })
    };
    joins.iter().filter_map(ending).collect()
}

/// What is known of a thread whose end another one waits for.
#[derive(Default)]
struct Life {
    /// When it was asleep, without pauses that count, in order.
    sleeps: Vec<(Ns, Ns)>,
    /// Its waits for other threads.
    waits: Vec<(Ns, Ns)>,
    /// When it ended other threads' waits.
    ends: Vec<Ns>,
}

fn lives(trace: &Trace, signals: &[Signal], joins: &[&Signal]) -> FxHashMap<ThreadId, Life> {
    let mut lives: FxHashMap<ThreadId, Life> =
        joins.iter().map(|join| (join.by, Life::default())).collect();
    if lives.is_empty() {
        return lives;
    }
    for signal in signals {
        if let Some(waiter) = lives.get_mut(&signal.waiter) {
            waiter.waits.push((signal.start, signal.end));
        }
        if let Some(by) = lives.get_mut(&signal.by) {
            by.ends.push(signal.at);
        }
    }
    let states = &trace.states;
    for row in states.ids() {
        if let Some(life) = lives.get_mut(&states.thread[row.index()]) {
            let state = states.row(row);
            let awake = state.running + state.runnable;
            let is_sleep = SLEEPS.contains(&trace.text(state.call));
            if awake <= (state.end - state.start) / 10 && !is_sleep {
                life.sleeps_on(state.start, state.end);
            }
        }
    }
    lives
}

impl Life {
    /// Adds a sleep, which may go on from the last one.
    fn sleeps_on(&mut self, start: Ns, end: Ns) {
        match self.sleeps.last_mut() {
            Some((_, until)) if *until == start => *until = end,
            _ => self.sleeps.push((start, end)),
        }
    }

    /// When the thread last called, waited, or ended another one's wait by then; that moment itself if it is about to.
    fn last_event(&self, trace: &Trace, threads: &Threads, thread: ThreadId, by: Ns) -> Ns {
        if threads.call_at(trace, thread, by).is_some() {
            return by;
        }
        let waits = self.waits.iter().filter(|(start, _)| *start < by).map(|(_, end)| *end);
        let ends = self.ends.iter().copied().filter(|at| *at <= by);
        let last = waits.chain(ends).max().unwrap_or(Ns::MIN);
        last.max(threads.last_end(trace, thread, by)).min(by)
    }
}
