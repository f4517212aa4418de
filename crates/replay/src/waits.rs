//! The waits for CUDA's locks that a replay makes: with a change, other calls may meet than did.

use crate::calls::CHANCE;
use crate::threads::Threads;
use crate::{Recovered, StepOf};
use rustc_hash::{FxHashMap, FxHashSet};
use sim::{CallOf, RecordedStep, Replayed, StepAt, Use};
use trace::{CallId, LockMode, ProcessId, Trace, Wait};

/// Which recorded waits a replay makes itself: those of calls that wait behind others, or that acquire their context's lock.
pub(crate) fn modelled(trace: &Trace, threads: &Threads, recovered: &Recovered) -> Vec<bool> {
    let waiting = |call: &CallOf| call.locks.context != Use::None || call.behind.count > 0;
    let steps =
        recovered.steps.iter().zip(&recovered.recorded.threads).flat_map(|(of, steps)| of.iter().zip(steps));
    let of = |(of, step): (&StepOf, &RecordedStep)| match (of, step) {
        (StepOf::Call(id), RecordedStep::Call(call)) if waiting(call) => Some(*id),
        _ => None,
    };
    let calls: FxHashSet<CallId> = steps.filter_map(of).collect();
    let waits = &trace.waits;
    let is_modelled = |at: usize| {
        let is_long = waits.end[at] - waits.start[at] >= CHANCE;
        is_long && waits.layer[at].is_cuda() && calls.contains(&threads.outer(waits.call[at]))
    };
    (0..waits.len()).map(is_modelled).collect()
}

/// The waits of a replay. Which lock it was, the replay does not know: it is that of a recorded wait of the same call, or of the same
/// process. A trace without any does not get any.
pub(crate) fn of_replay(
    trace: &Trace,
    threads: &Threads,
    recovered: &Recovered,
    replayed: &Replayed,
    modelled: &[bool],
) -> Vec<Wait> {
    let process = |call: CallId| trace.threads.process[trace.calls.thread[call.index()].index()];
    let mut of_call: FxHashMap<CallId, Wait> = FxHashMap::default();
    let mut of_process: FxHashMap<ProcessId, Wait> = FxHashMap::default();
    for (at, _) in trace.waits.ids().zip(modelled).filter(|(_, modelled)| **modelled) {
        let (wait, call) = (trace.waits.row(at), threads.outer(trace.waits.call[at.index()]));
        of_call.insert(call, wait);
        of_process.entry(process(call)).or_insert(wait);
    }
    let call_of = |at: StepAt| {
        let steps = &recovered.steps[at.thread as usize];
        let until = steps.get(..=at.step as usize)?;
        match until.iter().rev().find(|step| **step != StepOf::Part) {
            Some(StepOf::Call(call)) => Some(*call),
            _ => None,
        }
    };
    let wait_of = |waited: &sim::Waited| {
        let (call, holder_call) = (call_of(waited.by)?, call_of(waited.holder)?);
        let like = of_call.get(&call).or_else(|| of_process.get(&process(call)))?;
        let holder = trace.calls.thread[holder_call.index()];
        Some(Wait {
            start: waited.start + recovered.start,
            end: waited.end + recovered.start,
            thread: trace.calls.thread[call.index()],
            call,
            mode: if waited.exclusive { LockMode::Exclusive } else { like.mode },
            holder,
            holder_call,
            releaser: holder,
            releaser_call: holder_call,
            handoff: 0,
            ..*like
        })
    };
    replayed.waits.iter().filter_map(wait_of).collect()
}
