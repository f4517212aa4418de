//! Figures of a finding: how long what it is about took, and how long the same takes otherwise.

use explain::{Cause, Finding, Loss};
use rustc_hash::FxHashSet;
use trace::{CallId, Ns, ThreadId, Trace};
use waits::{Index, Waits};

/// The spread of some durations, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spread {
    /// Number of durations.
    pub count: u64,
    /// The shortest.
    pub min: Ns,
    /// The one in the middle.
    pub median: Ns,
    /// The shortest that at least 95 % do not exceed.
    pub p95: Ns,
    /// The longest.
    pub max: Ns,
}

impl Spread {
    /// The spread of these; `None` of none.
    pub fn of(durations: impl IntoIterator<Item = Ns>) -> Option<Spread> {
        let mut all: Vec<Ns> = durations.into_iter().collect();
        all.sort_unstable();
        let (min, max) = (*all.first()?, *all.last()?);
        let at = |percent: usize| all[(all.len() * percent).div_ceil(100).max(1) - 1];
        Some(Spread { count: all.len() as u64, min, median: at(50), p95: at(95), max })
    }
}

/// Subject of some durations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Calls that lost time.
    Calls,
    /// Waits of threads outside of calls.
    Waits,
    /// Waits of GPU operations from the moment at which they were ready to their start.
    Operations,
    /// Pauses of threads between two calls.
    Pauses,
}

/// The durations that a finding is about, and those of the same that nothing held up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Figures {
    /// Subject of the durations.
    pub subject: Subject,
    /// The durations of the finding.
    pub lost: Spread,
    /// The others.
    pub beside: Option<Spread>,
}

/// The figures of a finding; `None` if the trace has no single durations of it.
pub fn figures(trace: &Trace, finding: &Finding, row: u32, losses: &[Loss]) -> Option<Figures> {
    let index = Index::of(trace);
    let mine: Vec<&Loss> =
        losses.iter().filter(|loss| loss.finding == Some(row) && loss.lost_ns > 0).collect();
    let calls: FxHashSet<CallId> = mine.iter().filter_map(|loss| loss.call.some()).collect();
    if !calls.is_empty() {
        return of_calls(trace, &index, &calls, losses);
    }
    if !mine.is_empty() {
        let lost = Spread::of(mine.iter().map(|loss| loss.end - loss.start))?;
        return Some(Figures { subject: Subject::Waits, lost, beside: None });
    }
    of_operations(&index, finding.cause).or_else(|| of_pauses(trace, &index, finding))
}

/// Calls that lost time, and those of the same functions and threads in which no time was lost.
fn of_calls(trace: &Trace, index: &Index<'_>, calls: &FxHashSet<CallId>, losses: &[Loss]) -> Option<Figures> {
    let table = &trace.calls;
    let took = |call: &CallId| table.end[call.index()] - table.start[call.index()];
    let of = |call: &CallId| (table.thread[call.index()], table.name[call.index()]);
    let same: FxHashSet<_> = calls.iter().map(of).collect();
    let lost: FxHashSet<CallId> =
        losses.iter().filter(|loss| loss.lost_ns > 0).map(|loss| loss.call).collect();
    let threads: FxHashSet<ThreadId> = same.iter().map(|(thread, _)| *thread).collect();
    let mut others: Vec<Ns> = Vec::new();
    for thread in threads {
        let all = index.calls.of_thread(thread).iter();
        others.extend(all.filter(|call| same.contains(&of(call)) && !lost.contains(call)).map(took));
    }
    Some(Figures {
        subject: Subject::Calls,
        lost: Spread::of(calls.iter().map(took))?,
        beside: Spread::of(others),
    })
}

/// Operations that waited for the cause, and the waits of all others.
fn of_operations(index: &Index<'_>, cause: Cause) -> Option<Figures> {
    let trace = index.trace;
    if trace.ops.is_empty() || trace.meta.clock == trace::Clock::Separate {
        return None;
    }
    let waits = Waits::of(index);
    let (mut lost, mut beside) = (Vec::new(), Vec::new());
    for op in trace.ops.ids() {
        let parts = waits.of_op(op);
        let sum = |is: &dyn Fn(Cause) -> bool| -> Ns {
            parts.iter().filter(|part| is(part.cause)).map(|part| part.end - part.start).sum()
        };
        match sum(&|of| of == cause) {
            0 => beside.push(sum(&|_| true)),
            ns => lost.push(ns),
        }
    }
    Some(Figures { subject: Subject::Operations, lost: Spread::of(lost)?, beside: Spread::of(beside) })
}

/// The pauses between two functions that have most of the finding's time.
fn of_pauses(trace: &Trace, index: &Index<'_>, finding: &Finding) -> Option<Figures> {
    let pauses = finding.pauses.as_ref()?;
    let name = |call: CallId| trace.text(trace.calls.name[call.index()]);
    let mut found = Vec::new();
    for thread in trace.threads.ids().filter(|thread| is_waiter(trace, finding, *thread)) {
        for pair in index.calls.of_thread(thread).windows(2) {
            let ns = index.start(pair[1]) - index.end(pair[0]);
            if ns > 0 && name(pair[0]) == pauses.after && name(pair[1]) == pauses.before {
                found.push(ns);
            }
        }
    }
    Some(Figures { subject: Subject::Pauses, lost: Spread::of(found)?, beside: None })
}

/// Whether a thread is one that loses time.
pub(crate) fn is_waiter(trace: &Trace, finding: &Finding, thread: ThreadId) -> bool {
    let row = trace.threads.row(thread);
    let pid = row.process.some().map_or(0, |process| trace.processes.pid[process.index()]);
    let is = |of: (i64, i64)| of == (pid, row.tid);
    is((finding.waiter.pid, finding.waiter.tid))
        || finding.threads.iter().any(|waiter| is((waiter.pid, waiter.tid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_the_nearest_ranks() {
        assert_eq!(Spread::of([]), None);
        let one = Spread { count: 1, min: 7, median: 7, p95: 7, max: 7 };
        assert_eq!(Spread::of([7]), Some(one));
        let hundred = Spread { count: 100, min: 1, median: 50, p95: 95, max: 100 };
        assert_eq!(Spread::of((1..=100).rev()), Some(hundred));
    }
}
