//! Ends of threads that kept nobody waiting in the trace: the first thread of a process joined them when they had ended already, or would at
//! the latest as it ends itself. Python's interpreter joins threads then, and no C++ program may end beside one that it did not detach.

use super::signal::{Signal, SignalKind};
use crate::calls::CallOrder;
use crate::class::{Class, classify};
use rustc_hash::FxHashSet;
use trace::{CallId, LockKind, Ns, ThreadId, Trace, WaitId};

/// The waits of first threads for others that ended before them, after the last call by which they had the GPU work or waited for it.
pub fn exits(trace: &Trace, order: &CallOrder<'_>, signals: &[Signal]) -> Vec<Signal> {
    let classes: Vec<Class> = trace.strings.iter().map(|(_, name)| classify(name)).collect();
    let works = |call: &&CallId| {
        let class = classes[trace.calls.name[call.index()].index()];
        class.enqueues() || matches!(class, Class::Sync | Class::Copy { .. })
    };
    let (ends, joined) = (ends(trace, order), joined(trace, signals));
    let mut exits = Vec::new();
    for first in trace.threads.ids().filter(|thread| is_first(trace, *thread)) {
        let calls = order.of_thread(first);
        let Some(last) = calls.iter().rev().find(works).map(|call| trace.calls.end[call.index()]) else {
            continue;
        };
        let others = trace.threads.ids().filter(|other| {
            *other != first
                && trace.process_of_thread(*other) == trace.process_of_thread(first)
                && !order.of_thread(*other).is_empty()
                && !joined.contains(other)
        });
        for other in others {
            let at = ends[other.index()];
            let moment = last.max(at);
            let moment = order.call_at(first, moment).map_or(moment, |call| trace.calls.end[call.index()]);
            let goes_on = calls.last().is_some_and(|call| trace.calls.start[call.index()] >= moment);
            if goes_on {
                let (wait, kind) = (WaitId::NONE, SignalKind::Exit);
                exits.push(Signal { kind, wait, waiter: first, by: other, start: moment, end: moment, at });
            }
        }
    }
    exits
}

/// Whether a thread is the first of its process: they have the same number.
fn is_first(trace: &Trace, thread: ThreadId) -> bool {
    let process = trace.process_of_thread(thread).some();
    process.is_some_and(|process| trace.processes.pid[process.index()] == trace.threads.tid[thread.index()])
}

/// The threads for whose end the trace has a wait.
fn joined(trace: &Trace, signals: &[Signal]) -> FxHashSet<ThreadId> {
    let joins = |signal: &&Signal| {
        signal.wait.some().is_some_and(|wait| trace.waits.kind[wait.index()] == LockKind::Join)
    };
    signals.iter().filter(joins).map(|signal| signal.by).collect()
}

/// When each thread ended, as far as its calls and the scheduler tell, ns.
fn ends(trace: &Trace, order: &CallOrder<'_>) -> Vec<Ns> {
    let last = |thread: ThreadId| {
        order.of_thread(thread).last().map_or(Ns::MIN, |call| trace.calls.end[call.index()])
    };
    let mut ends: Vec<Ns> = trace.threads.ids().map(last).collect();
    for row in trace.states.ids() {
        if let Some(thread) = trace.states.thread[row.index()].some() {
            let end = &mut ends[thread.index()];
            *end = (*end).max(trace.states.end[row.index()]);
        }
    }
    ends
}
