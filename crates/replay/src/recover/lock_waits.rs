//! The waits for CUDA's locks that a replay makes: with a change, other calls may meet than did.

use crate::{Recovered, StepOf};
use rustc_hash::FxHashMap;
use sim::{CallOf, RecordedStep, Replayed, StepAt, Use};
use trace::{CallId, LockKind, LockMode, ProcessId, Trace, Wait, WaitId};
use waits::{CHANCE, CallOrder};

/// Which recorded waits a replay makes itself: those of calls that wait behind others, or that acquire their context's lock, unless they are
/// short, and all for the mutex of a convoy.
pub(crate) fn modelled(trace: &Trace, order: &CallOrder<'_>, recovered: &Recovered) -> Vec<bool> {
    let waiting =
        |call: &CallOf| call.locks.context != Use::None || call.locks.mutex || call.behind.count > 0;
    let steps =
        recovered.steps.iter().zip(&recovered.recorded.threads).flat_map(|(of, steps)| of.iter().zip(steps));
    let mut waits_itself = vec![false; trace.calls.len()];
    let mut in_convoy = vec![false; trace.calls.len()];
    for (of, step) in steps {
        if let (StepOf::Call(id), RecordedStep::Call(call)) = (of, step) {
            waits_itself[id.index()] |= waiting(call);
            in_convoy[id.index()] |= call.locks.mutex;
        }
    }
    let waits = &trace.waits;
    let is_modelled = |at: usize| {
        let is_long = waits.end[at] - waits.start[at] >= CHANCE;
        let is_mutex = waits.kind[at] == LockKind::Mutex;
        let call = order.outermost(waits.call[at]).some().map(CallId::index);
        let makes = |call: usize| (is_long && waits_itself[call]) || (is_mutex && in_convoy[call]);
        waits.layer[at].is_cuda() && call.is_some_and(makes)
    };
    (0..waits.len()).map(is_modelled).collect()
}

/// The waits of a replay. Which lock it was, the replay does not know: it is that of a recorded wait of the same call, or of the same
/// process. A trace without any does not get any.
pub(crate) fn of_replay(
    trace: &Trace,
    order: &CallOrder<'_>,
    recovered: &Recovered,
    replayed: &Replayed,
    modelled: &[bool],
) -> Vec<Wait> {
    let process = |call: CallId| trace.threads.process[trace.calls.thread[call.index()].index()];
    let mut of_call = vec![WaitId::NONE; trace.calls.len()];
    let mut of_process: FxHashMap<ProcessId, WaitId> = FxHashMap::default();
    for (wait, _) in trace.waits.ids().zip(modelled).filter(|(_, modelled)| **modelled) {
        let call = order.outermost(trace.waits.call[wait.index()]);
        of_call[call.index()] = wait;
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
        let like = of_call[call.index()].some().or_else(|| of_process.get(&process(call)).copied())?;
        let like = trace.waits.row(like);
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
            ..like
        })
    };
    replayed.waits.iter().filter_map(wait_of).collect()
}
