//! The waits for CUDA's locks that a replay makes: with a change, other calls may meet than did.

use crate::calls::CHANCE;
use crate::threads::Threads;
use crate::{Recovered, StepOf};
use rustc_hash::FxHashMap;
use sim::{RecordedStep, Replayed, StepAt, Use};
use trace::{CallId, LockKind, LockMode, Ns, ProcessId, Trace, Wait, WaitId};

/// Which recorded waits a replay makes itself: those of calls that wait behind others, or that acquire their context's lock, and the
/// shorter ones for its mutex.
pub(crate) fn modelled(trace: &Trace, threads: &Threads, recovered: &Recovered) -> Vec<bool> {
    // By call, how short a wait for a mutex, or for another lock, the replay makes.
    let mut least = vec![[Ns::MAX; 2]; trace.calls.len()];
    for (of, steps) in recovered.steps.iter().zip(&recovered.recorded.threads) {
        for (of, step) in of.iter().zip(steps) {
            if let (StepOf::Call(id), RecordedStep::Call(call)) = (of, step) {
                let waits = call.locks.context != Use::None || call.locks.mutex || call.behind.count > 0;
                let other = if waits { CHANCE } else { Ns::MAX };
                let of_mutex = if call.locks.mutex { 0 } else { other };
                let [least_of_mutex, least_of_others] = &mut least[id.index()];
                *least_of_mutex = of_mutex.min(*least_of_mutex);
                *least_of_others = other.min(*least_of_others);
            }
        }
    }
    let waits = &trace.waits;
    let is_modelled = |at: usize| {
        let call = threads.outer(waits.call[at]).some().filter(|_| waits.layer[at].is_cuda());
        let least = call.map_or([Ns::MAX; 2], |call| least[call.index()]);
        waits.end[at] - waits.start[at] >= least[usize::from(waits.kind[at] != LockKind::Mutex)]
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
    let mut of_call = vec![WaitId::NONE; trace.calls.len()];
    let mut of_process: FxHashMap<ProcessId, WaitId> = FxHashMap::default();
    for (wait, _) in trace.waits.ids().zip(modelled).filter(|(_, modelled)| **modelled) {
        let call = threads.outer(trace.waits.call[wait.index()]);
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
