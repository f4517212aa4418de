//! Threads that are told to end: they sleep, nobody knows for what, until a thread tells them that then waits for their end, or for the last
//! thing that they do.
//!
//! DDP's threads for sockets are told by a byte, by a closed connection or by a flag, which their `poll` sees within 0.5 s; threads of
//! PyTorch's autograd that computed nothing count themselves off (two H100, PyTorch 2.11, NCCL). If they went on at a time of their own, a
//! thread that waits for them would end no earlier whatever changes.

use crate::signals::{Kind, Signal};
use crate::threads::Threads;
use rustc_hash::FxHashMap;
use trace::{LockKind, Ns, ThreadId, Trace, WaitId};

/// System calls that end at a time of their own, whatever another thread does.
const SLEEPS: [&str; 2] = ["nanosleep", "clock_nanosleep"];

/// The moments at which threads are told to end. A thread goes on after the last sleep that was as long as all that followed: one that
/// waits for something else mostly has more to do then.
pub(crate) fn endings(
    trace: &Trace,
    threads: &Threads,
    signals: &[Signal],
    lasts: &[&Signal],
) -> Vec<Signal> {
    let mut endings: FxHashMap<ThreadId, Signal> = FxHashMap::default();
    let lives = lives(trace, signals, lasts);
    for last in lasts {
        let (thread, life) = (last.by, &lives[&last.by]);
        let cut = |(from, until): &(Ns, Ns)| {
            let told = (*until).min(last.start);
            (life.last_event(trace, threads, thread, told).max(*from), told)
        };
        let end = life.end.max(last.end);
        let mut sleeps = life.sleeps.iter().rev().map(cut);
        let Some((start, told)) = sleeps.find(|(from, told)| told - from >= end - told) else { continue };
        let (wait, by, kind) = (WaitId::NONE, last.waiter, Kind::Told);
        let ending = Signal { wait, waiter: thread, by, start, end: told, at: told, kind };
        let first = endings.entry(thread).or_insert(ending);
        if told < first.at {
            *first = ending;
        }
    }
    endings.into_values().collect()
}

/// The waits for threads' ends, and the last other wait that each thread ended.
pub(crate) fn lasts<'a>(trace: &Trace, signals: &'a [Signal]) -> Vec<&'a Signal> {
    let (mut joins, mut others) = (Vec::new(), FxHashMap::default());
    for signal in signals {
        if !signal.is_for_a_thread(trace) {
            continue;
        }
        if trace.waits.kind[signal.wait.index()] == LockKind::Join {
            joins.push(signal);
        } else {
            let last = others.entry(signal.by).or_insert(signal);
            if last.at < signal.at {
                *last = signal;
            }
        }
    }
    joins.extend(others.into_values());
    joins.sort_by_key(|last| (last.start, last.by));
    joins
}

/// What is known of a thread that another one waits for.
#[derive(Default)]
struct Life {
    /// When it ended, as far as the scheduler was asked.
    end: Ns,
    /// When it was asleep, without pauses that count, in order.
    sleeps: Vec<(Ns, Ns)>,
    /// Its waits for other threads.
    waits: Vec<(Ns, Ns)>,
    /// When it ended other threads' waits.
    ends: Vec<Ns>,
}

fn lives(trace: &Trace, signals: &[Signal], lasts: &[&Signal]) -> FxHashMap<ThreadId, Life> {
    let mut lives: FxHashMap<ThreadId, Life> = lasts.iter().map(|last| (last.by, Life::default())).collect();
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
            life.end = life.end.max(state.end);
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
