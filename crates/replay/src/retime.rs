//! A trace with the times of a replay: what it would have recorded.

use crate::arithmetic::part;
use crate::recover::lock_waits::of_replay;
use crate::{Recovered, StepOf};
use rustc_hash::FxHashMap;
use sim::Replayed;
use std::cell::Cell;
use trace::{CallId, Ns, ProcessId, RangeId, ThreadId, Trace, Wait, Waits, partition_point_near};
use waits::CallOrder;

/// The trace with the times of the replay. What happened within a step keeps its place in it, in proportion.
pub fn retime(trace: &Trace, recovered: &Recovered, replayed: &Replayed) -> Trace {
    let mut new = trace.clone();
    write(trace, &CallOrder::new(trace), recovered, replayed, &mut new);
    new
}

/// Makes `new`, which is the trace with any times, the trace with the times of the replay.
pub(crate) fn write(
    trace: &Trace,
    order: &CallOrder<'_>,
    recovered: &Recovered,
    replayed: &Replayed,
    new: &mut Trace,
) {
    let times = Times::of(trace, recovered, replayed);
    old_times(trace, new);
    let calls = &mut new.calls;
    for at in 0..calls.len() {
        times.of_thread(calls.thread[at]).interval(&mut calls.start[at], &mut calls.end[at]);
    }
    for (call, start, end) in moved(trace, recovered, replayed) {
        (calls.start[call.index()], calls.end[call.index()]) = (start, end);
    }
    let spans = recovered.spans(trace);
    for op in trace.ops.ids() {
        let (start, end) = recovered.times(trace, replayed, op, &spans);
        (new.ops.start[op.index()], new.ops.end[op.index()]) =
            (start + recovered.start, end + recovered.start);
    }
    set_waits(&mut new.waits, trace, order, recovered, replayed, &times);
    let (syncs, calls) = (&mut new.syncs, &new.calls);
    for at in 0..syncs.len() {
        let thread = syncs.call[at].some().map_or(ThreadId::NONE, |call| calls.thread[call.index()]);
        times.of_thread(thread).interval(&mut syncs.start[at], &mut syncs.end[at]);
    }
    let ranges = &mut new.ranges;
    for at in 0..ranges.len() {
        times.of_thread(ranges.thread[at]).interval(&mut ranges.start[at], &mut ranges.end[at]);
    }
    let states = &mut new.states;
    for at in 0..states.len() {
        let before = states.end[at] - states.start[at];
        times.of_thread(states.thread[at]).interval(&mut states.start[at], &mut states.end[at]);
        let after = states.end[at] - states.start[at];
        states.running[at] = part(states.running[at], after, before);
        states.runnable[at] = part(states.runnable[at], after, before);
    }
    let samples = &mut new.samples;
    for at in 0..samples.len() {
        samples.at[at] = times.of_thread(samples.thread[at]).at(samples.at[at]);
    }
    let limits = &mut new.limits;
    for at in 0..limits.len() {
        times.of_process(limits.process[at]).interval(&mut limits.start[at], &mut limits.end[at]);
    }
    for (start, end) in &mut new.meta.recorded {
        times.of_process(ProcessId::NONE).interval(start, end);
    }
}

/// Gives a trace the times of another one that differs in nothing else, except in those of operations and waits.
fn old_times(trace: &Trace, new: &mut Trace) {
    new.calls.start.clone_from(&trace.calls.start);
    new.calls.end.clone_from(&trace.calls.end);
    new.syncs.start.clone_from(&trace.syncs.start);
    new.syncs.end.clone_from(&trace.syncs.end);
    new.ranges.start.clone_from(&trace.ranges.start);
    new.ranges.end.clone_from(&trace.ranges.end);
    new.states.clone_from(&trace.states);
    new.samples.at.clone_from(&trace.samples.at);
    new.limits.start.clone_from(&trace.limits.start);
    new.limits.end.clone_from(&trace.limits.end);
    new.meta.recorded.clone_from(&trace.meta.recorded);
}

/// The calls that a change has moved to another step of their thread, and when they are now.
fn moved(trace: &Trace, recovered: &Recovered, replayed: &Replayed) -> Vec<(CallId, Ns, Ns)> {
    let mut moved = Vec::new();
    for (row, steps) in recovered.steps.iter().enumerate() {
        let times = &replayed.steps[row];
        for (at, step) in steps.iter().enumerate() {
            let StepOf::Call(call) = *step else { continue };
            if trace.calls.start[call.index()] != recovered.begins[row][at] + recovered.start {
                let [start, end] = [times[at], times[at + 1]].map(|time| time + recovered.start);
                moved.push((call, start, end));
            }
        }
    }
    moved
}

/// Sets the waits for locks to those that the replay has made, and those that it has not, with the times of their threads.
fn set_waits(
    waits: &mut Waits,
    trace: &Trace,
    order: &CallOrder<'_>,
    recovered: &Recovered,
    replayed: &Replayed,
    times: &Times<'_>,
) {
    let modelled = &*recovered.modelled;
    let mut rows = Vec::with_capacity(replayed.waits.len() + trace.waits.len());
    rows.extend(of_replay(trace, order, recovered, replayed, modelled));
    for (at, _) in trace.waits.ids().zip(modelled).filter(|(_, modelled)| !**modelled) {
        let old = trace.waits.row(at);
        let mut wait = old;
        times.of_thread(wait.thread).interval(&mut wait.start, &mut wait.end);
        wait.handoff = old.handoff.min(wait.end - wait.start).min(old.end - old.start);
        rows.push(wait);
    }
    // Waits are large: their keys are sorted.
    let key = |(at, wait): (u32, &Wait)| (wait.start, wait.end, wait.thread, at);
    let mut order: Vec<_> = (0..).zip(&rows).map(key).collect();
    order.sort_unstable();
    waits.clear();
    for (.., at) in order {
        waits.push(rows[at as usize]);
    }
}

/// The time that ranges cover in a replay, ns.
pub(crate) fn covered(trace: &Trace, recovered: &Recovered, replayed: &Replayed, ranges: &[RangeId]) -> Ns {
    let times = Times::of(trace, recovered, replayed);
    let of = &trace.ranges;
    let interval = |range: &RangeId| {
        let at = range.index();
        let clock = times.of_thread(of.thread[at]);
        (clock.at(of.start[at]), clock.at(of.end[at]))
    };
    union(ranges.iter().map(interval).collect())
}

/// The time in a replay from the start of the first operation that starts in a window of the trace to the end of the last one, ns from
/// the start of the replay; `None` if none starts there.
pub(crate) fn worked(
    trace: &Trace,
    recovered: &Recovered,
    replayed: &Replayed,
    (from, to): (Ns, Ns),
) -> Option<(Ns, Ns)> {
    let spans = recovered.spans(trace);
    let within = trace.ops.ids().filter(|op| (from..to).contains(&trace.ops.start[op.index()]));
    let times = within.map(|op| recovered.times(trace, replayed, op, &spans));
    let (start, end) = times.reduce(|(first, last), (start, end)| (first.min(start), last.max(end)))?;
    Some((start - recovered.start, end - recovered.start))
}

/// When the first of some ranges begins in a replay, ns; 0 without ranges.
pub(crate) fn began(trace: &Trace, recovered: &Recovered, replayed: &Replayed, ranges: &[RangeId]) -> Ns {
    if ranges.is_empty() {
        return 0;
    }
    let times = Times::of(trace, recovered, replayed);
    let of = &trace.ranges;
    let start = |range: &RangeId| times.of_thread(of.thread[range.index()]).at(of.start[range.index()]);
    ranges.iter().map(start).min().map_or(0, |start| start - recovered.start)
}

/// The time that intervals cover, ns.
pub(crate) fn union(mut intervals: Vec<(Ns, Ns)>) -> Ns {
    intervals.sort_unstable();
    let mut covered = (0, Ns::MIN);
    for (start, end) in intervals {
        let (sum, last) = covered;
        covered = (sum + (end - start.max(last)).max(0), last.max(end));
    }
    covered.0
}

/// How the time of one thread went on: moments of the trace and of the replay, ns from `start`, both in order.
#[derive(Default)]
struct Clock<'a> {
    old: &'a [Ns],
    new: &'a [Ns],
    /// Origins of the steps that begin then.
    of: &'a [StepOf],
    start: Ns,
    /// The last result of [`Clock::after`].
    last: Cell<usize>,
}

impl Clock<'_> {
    /// A moment in the trace and in the replay; `None` after the last one.
    fn moment(&self, at: usize) -> Option<(Ns, Ns)> {
        Some((self.old.get(at)? + self.start, self.new.get(at)? + self.start))
    }

    /// The first of the moments after a time. What a table has of one thread is mostly in order: the next time is near the last one.
    fn after(&self, time: Ns) -> usize {
        let is_before = |at: usize| self.old[at] + self.start <= time;
        let after = partition_point_near(self.old.len(), self.last.get(), is_before);
        self.last.set(after);
        after
    }

    /// A moment of the trace, in the replay.
    fn at(&self, time: Ns) -> Ns {
        let after = self.after(time);
        match (after.checked_sub(1).and_then(|at| self.moment(at)), self.moment(after)) {
            // Most times are those of steps.
            (Some((old, new)), _) if old == time => new,
            (Some((old, new)), Some((next_old, next_new))) => {
                new + part(time - old, next_new - new, next_old - old)
            }
            (Some((old, new)), None) => new + time - old,
            (None, Some((old, new))) => time + (new - old).min(0),
            (None, None) => time,
        }
    }

    /// A moment at which something ends, in the replay: before what begins then, but after the parts of a call that a change has divided.
    fn end_at(&self, time: Ns) -> Ns {
        let mut first = self.after(time);
        let begins_then =
            |at: usize| self.old[at] + self.start == time && self.of.get(at) != Some(&StepOf::Part);
        while first > 0 && begins_then(first - 1) {
            first -= 1;
        }
        match self.moment(first) {
            Some((old, new)) if old == time => new,
            _ => self.at(time),
        }
    }

    fn interval(&self, start: &mut Ns, end: &mut Ns) {
        let is_empty = start == end;
        *start = self.at(*start);
        *end = if is_empty { *start } else { self.end_at(*end) };
    }
}

/// The clocks of all threads.
struct Times<'a> {
    /// By thread.
    threads: Vec<Option<Clock<'a>>>,
    /// The thread with the most steps of each process, and of all.
    main: FxHashMap<ProcessId, ThreadId>,
    processes: Vec<ProcessId>,
    none: Clock<'a>,
}

impl<'a> Times<'a> {
    fn of(trace: &Trace, recovered: &'a Recovered, replayed: &'a Replayed) -> Times<'a> {
        let mut times = Times {
            threads: trace.threads.ids().map(|_| None).collect(),
            main: FxHashMap::default(),
            processes: trace.threads.ids().map(|thread| trace.threads.process[thread.index()]).collect(),
            none: Clock::default(),
        };
        let mut most: FxHashMap<ProcessId, usize> = FxHashMap::default();
        for (row, thread) in recovered.threads.iter().enumerate() {
            let Some(thread) = *thread else { continue };
            let (old, new) = (&recovered.begins[row], &replayed.steps[row]);
            let known = old.len().min(new.len());
            let (old, new) = (&old[..known], &new[..known]);
            for process in [trace.threads.process[thread.index()], ProcessId::NONE] {
                let count = recovered.begins[row].len();
                if most.get(&process).is_none_or(|most| *most < count) {
                    most.insert(process, count);
                    times.main.insert(process, thread);
                }
            }
            times.threads[thread.index()] = Some(Clock {
                old,
                new,
                of: &recovered.steps[row],
                start: recovered.start,
                ..Clock::default()
            });
        }
        times
    }

    /// The clock of a thread; of one without steps, that of its process.
    fn of_thread(&self, thread: ThreadId) -> &Clock<'a> {
        self.own(thread).unwrap_or_else(|| {
            self.of_process(thread.some().map_or(ProcessId::NONE, |thread| self.processes[thread.index()]))
        })
    }

    fn of_process(&self, process: ProcessId) -> &Clock<'a> {
        let main = self.main.get(&process).or_else(|| self.main.get(&ProcessId::NONE));
        main.and_then(|thread| self.own(*thread)).unwrap_or(&self.none)
    }

    fn own(&self, thread: ThreadId) -> Option<&Clock<'a>> {
        self.threads[thread.some()?.index()].as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call of 5 ns, a lock that is acquired after it without a wait, for which a replay waits 4 ns, and a pause.
    #[test]
    fn what_ends_does_so_before_a_wait_that_was_none() {
        let of = [StepOf::Call(CallId::NONE), StepOf::Takes, StepOf::Outside];
        let clock =
            Clock { old: &[0, 5, 5, 10], new: &[0, 5, 9, 14], of: &of, start: 100, ..Clock::default() };
        let interval = |mut start, mut end| {
            clock.interval(&mut start, &mut end);
            (start, end)
        };
        assert_eq!(interval(100, 105), (100, 105));
        assert_eq!(interval(105, 110), (109, 114));
        assert_eq!(interval(105, 105), (109, 109));
        assert_eq!(interval(102, 107), (102, 111));
    }

    #[test]
    fn a_call_ends_with_its_last_part() {
        let of = [StepOf::Call(CallId::NONE), StepOf::Part, StepOf::Takes, StepOf::Outside];
        let (old, new) = ([0, 5, 5, 5, 10], [0, 2, 6, 9, 14]);
        let clock = Clock { old: &old, new: &new, of: &of, ..Clock::default() };
        assert_eq!(clock.end_at(5), 6);
    }
}
