//! Threads that do the same again and again until another one tells them to end, by a flag that nobody sees: `while (!done)`.

use super::lives::Life;
use super::signal::{Signal, SignalKind};
use crate::calls::CallOrder;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{CallId, Ns, Sym, ThreadId, Trace, WaitId};

/// The least rounds of a loop, and how many times as long as its end its life is: a thread that does a fixed number of rounds comes to its
/// last one as another thread comes to wait for it once in so many times.
const ROUNDS: usize = 20;
/// Most calls of a thread that are looked at.
const MOST: usize = 1 << 16;

/// Where a thread looks whether it is to end.
pub enum Rounds {
    /// After these calls, in order: the last one of each round, but not of the last.
    After(Vec<CallId>),
    /// Everywhere, from one moment of the trace to another, ns: it makes no calls meanwhile.
    Within(Ns, Ns),
}

/// The loops that threads left because another one came that then waits for their end, or for the last thing that they do (`lasts`): they
/// had done at most one round more. A thread that meets others in its rounds does what they need, or they tell it in each. Those of
/// `endings` did nothing until they were told.
pub fn loops(
    trace: &Trace,
    order: &CallOrder<'_>,
    signals: &[Signal],
    lasts: &[&Signal],
    lives: &FxHashMap<ThreadId, Life>,
    endings: &[Signal],
) -> Vec<(Signal, Rounds)> {
    let mut told: FxHashSet<ThreadId> = endings.iter().map(|of| of.waiter).collect();
    let met = Meetings::of(trace, signals, lasts);
    let mut loops = Vec::new();
    for last in lasts {
        let (thread, by, at) = (last.by, last.waiter, last.start);
        // One that goes on from one thread's end to the next one's tells nobody: they do the same work.
        let before = met.last_end(by, at);
        if before.is_some_and(|before| order.last_end(by, at) < before) || told.contains(&thread) {
            continue;
        }
        let calls = order.of_thread(thread);
        let last_call = calls.last().map(|call| trace.calls.end[call.index()]);
        let found = left(trace, calls, at).or_else(|| ran_until(&lives[&thread], last_call, at));
        let Some(LoopExit { left, rounds, .. }) = found.filter(|found| !met.any(thread, found.since, at))
        else {
            continue;
        };
        told.insert(thread);
        let (wait, kind) = (WaitId::NONE, SignalKind::Told);
        loops.push((Signal { wait, waiter: thread, by, start: left, end: left, at, kind }, rounds));
    }
    loops
}

/// A loop that a thread left.
struct LoopExit {
    /// Since when it did the same, at least, ns.
    since: Ns,
    /// When it left.
    left: Ns,
    rounds: Rounds,
}

/// When threads met others: waited for them, or ended their waits.
struct Meetings {
    moments: FxHashMap<ThreadId, Vec<Ns>>,
    /// When each one's waits ended.
    ends: FxHashMap<ThreadId, Vec<Ns>>,
}

impl Meetings {
    /// Of the threads of `lasts`, besides those waits.
    fn of(trace: &Trace, signals: &[Signal], lasts: &[&Signal]) -> Meetings {
        let none = |of: fn(&Signal) -> ThreadId| lasts.iter().map(|last| (of(last), Vec::new())).collect();
        let mut met = Meetings { moments: none(|last| last.by), ends: none(|last| last.waiter) };
        for signal in signals.iter().filter(|signal| signal.is_for_a_thread(trace)) {
            if let Some(ends) = met.ends.get_mut(&signal.waiter) {
                ends.push(signal.end);
            }
            for (thread, at) in [(signal.waiter, signal.start), (signal.by, signal.at)] {
                if let Some(moments) = met.moments.get_mut(&thread) {
                    moments.push(at);
                }
            }
        }
        met
    }

    /// When the last wait of a thread ended that had ended by then.
    fn last_end(&self, thread: ThreadId, by: Ns) -> Option<Ns> {
        self.ends.get(&thread)?.iter().copied().filter(|end| *end <= by).max()
    }

    /// Whether a thread met another one within a time.
    fn any(&self, thread: ThreadId, from: Ns, until: Ns) -> bool {
        self.moments.get(&thread).is_some_and(|moments| moments.iter().any(|at| (from..until).contains(at)))
    }
}

/// The loop of a thread that ran for most of its life, for the second half of it without calls, and ended soon after a moment.
fn ran_until(life: &Life, last_call: Option<Ns>, at: Ns) -> Option<LoopExit> {
    let all = life.end - life.start?;
    let (since, from) = (life.end - all / 2, last_call.unwrap_or(Ns::MIN));
    let is_soon = (life.end - at) * ROUNDS as Ns <= all;
    let left = LoopExit { since, left: at, rounds: Rounds::Within(from, at) };
    (2 * life.running > all && is_soon && from <= since).then_some(left)
}

/// The loop of a thread's calls that it left with the round in which it was at a moment.
fn left(trace: &Trace, calls: &[CallId], at: Ns) -> Option<LoopExit> {
    let (starts, ends) = (&trace.calls.start, &trace.calls.end);
    let begun = calls.partition_point(|call| starts[call.index()] < at);
    let names: Vec<Sym> = calls.iter().map(|call| trace.calls.name[call.index()]).collect();
    let (period, repeated) = repeats(&names[begun.saturating_sub(MOST)..begun])?;
    let goes_on = (begun..names.len()).take_while(|call| names[*call] == names[call - period]).count();
    let (first, last) = (begun - repeated, begun + goes_on - 1);
    let ends_of_rounds = (first..last).rev().skip(period - 1).step_by(period);
    let mut rounds: Vec<CallId> = ends_of_rounds.map(|at| calls[at]).collect();
    rounds.reverse();
    let (since, left) = (starts[calls[first].index()], ends[calls[last].index()]);
    (goes_on <= period).then_some(LoopExit { since, left, rounds: Rounds::After(rounds) })
}

/// The shortest sequence that the names end with at least [`ROUNDS`] times, and how many names these are.
fn repeats(names: &[Sym]) -> Option<(usize, usize)> {
    // The prefix function of the reversed names: how long the longest beginning is with which each beginning also ends.
    let mut borders: Vec<usize> = vec![0; names.len()];
    let from_end = |at: usize| names[names.len() - 1 - at];
    for at in 1..names.len() {
        let mut border = borders[at - 1];
        while border > 0 && from_end(border) != from_end(at) {
            border = borders[border - 1];
        }
        borders[at] = border + usize::from(from_end(border) == from_end(at));
    }
    let found = (1..=names.len()).rev().map(|length| (length - borders[length - 1], length));
    found.into_iter().find(|(period, length)| *length >= ROUNDS * period)
}
