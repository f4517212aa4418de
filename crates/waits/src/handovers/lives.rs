//! Known facts about the threads that others wait for: their ends, and the last thing that they do.

use super::signal::Signal;
use crate::calls::CallOrder;
use rustc_hash::FxHashMap;
use trace::{LockKind, Ns, ThreadId, Trace};

/// System calls that end at a time of their own, whatever another thread does.
const SLEEPS: [&str; 2] = ["nanosleep", "clock_nanosleep"];

/// The waits for threads' ends, and the last other wait that each thread ended.
pub fn lasts<'a>(trace: &Trace, signals: &'a [Signal]) -> Vec<&'a Signal> {
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

/// Life of a thread that another one waits for, as far as it is known.
#[derive(Default)]
pub struct Life {
    /// When it began and ended, as far as the scheduler was asked, and how long it ran.
    pub start: Option<Ns>,
    pub end: Ns,
    pub running: Ns,
    /// When it was asleep, without pauses that count, in order.
    pub sleeps: Vec<(Ns, Ns)>,
    /// Its waits for other threads.
    waits: Vec<(Ns, Ns)>,
    /// When it ended other threads' waits.
    ends: Vec<Ns>,
}

pub fn lives(trace: &Trace, signals: &[Signal], lasts: &[&Signal]) -> FxHashMap<ThreadId, Life> {
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
            life.start = Some(life.start.unwrap_or(state.start).min(state.start));
            life.end = life.end.max(state.end);
            life.running += state.running;
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
    pub fn last_event(&self, order: &CallOrder<'_>, thread: ThreadId, by: Ns) -> Ns {
        if order.call_at(thread, by).is_some() {
            return by;
        }
        let waits = self.waits.iter().filter(|(start, _)| *start < by).map(|(_, end)| *end);
        let ends = self.ends.iter().copied().filter(|at| *at <= by);
        let last = waits.chain(ends).max().unwrap_or(Ns::MIN);
        last.max(order.last_end(thread, by)).min(by)
    }
}
