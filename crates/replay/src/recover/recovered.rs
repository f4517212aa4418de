//! Requests of a program, as steps to run in virtual time.

use crate::arithmetic::part;
use crate::error::Error;
use crate::recover::lost::ForQueue;
use rustc_hash::FxHashMap;
use sim::{CallOf, Does, Model, Options, Recorded, RecordedStep, Replayed};
use std::sync::Arc;
use trace::{CallId, Ns, OpId, ThreadId, Trace, WaitId};

/// Requests of a program, as steps to run in virtual time.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The steps.
    pub recorded: Recorded,
    /// The model to run them on.
    pub model: Model,
    /// The time of the trace at which they begin, ns.
    pub start: Ns,
    /// When the last of them ended in the trace, ns from `start`.
    pub end: Ns,
    /// The threads of the trace that have steps; the same rows as [`Recorded::threads`]. `None` stands for what issued operations
    /// without a known call.
    pub threads: Vec<Option<ThreadId>>,
    /// Origin of each step of each thread in the trace.
    pub steps: Arc<Vec<Vec<StepOf>>>,
    /// When each step of each thread began in the trace, and the last one ended, ns from `start`.
    pub begins: Arc<Vec<Vec<Ns>>>,
    /// By operation of the trace: its row of [`Recorded::works`], and how long after that one's start it starts, ns.
    pub works: Arc<Vec<(u32, Ns)>>,
    /// Operations that a change has divided: the row of the last piece, by that of the first one.
    pub pieces: FxHashMap<u32, u32>,
    /// The rows of [`Recorded::works`] that wait for an operation of another stream because they seem to share its hardware queue.
    pub aliased: Vec<u32>,
    /// Operations whose calls other threads no longer wait behind, by a change: rows of [`Recorded::works`].
    pub overtaken: Vec<u32>,
    /// Calls that wait for the mutex of their stream's hardware queue.
    pub behind_queues: Arc<FxHashMap<CallId, ForQueue>>,
    /// By recorded wait, whether a replay finds it anew: a change may do without it.
    pub modelled: Arc<Vec<bool>>,
    /// Time that a change takes once, when processes start and end, ns: a longer run has that once too.
    pub once: Ns,
    /// Whether contexts take turns on a device.
    pub turns: bool,
    /// Whether kernels that are issued back to back signal their end together on this device.
    pub signals_together: bool,
}

/// Origin of a step in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOf {
    /// Time outside of calls.
    Outside,
    /// A call, with those within it.
    Call(CallId),
    /// A further part of the call before it, which a change has divided.
    Part,
    /// A wait for another thread; `NONE` for the start of the thread.
    Wait(WaitId),
    /// The moment at which this wait of another thread ends.
    Ends(WaitId),
    /// The thread acquires a lock without a wait.
    Takes,
    /// The thread looks whether it is to end.
    Leaves,
    /// An operation of an unknown call is issued.
    Issues(OpId),
}

impl Recovered {
    /// When the last call or operation ends in a replay, ns. What threads do after that, or threads without calls, is not counted: in a
    /// trace it is as long as the program whatever that does.
    pub fn wall(&self, replayed: &Replayed) -> Ns {
        let calls = (0..self.steps.len()).filter_map(|row| self.last_call(replayed, row, |_| true));
        calls.chain(replayed.works.iter().map(|(_, end)| *end)).max().unwrap_or(0)
    }

    /// When the last call of a thread among those that `counts` ends in a replay, ns.
    fn last_call(&self, replayed: &Replayed, row: usize, counts: impl Fn(CallId) -> bool) -> Option<Ns> {
        let steps = &self.steps[row];
        let call = steps.iter().rposition(|step| matches!(step, StepOf::Call(call) if counts(*call)))?;
        let parts = steps[call + 1..].iter().take_while(|step| **step == StepOf::Part).count();
        let last = call + parts;
        replayed.steps[row].get(last + 1).copied()
    }

    /// When a thread with calls is done in a replay, ns: its last call among those that `counts` and its last operation have ended.
    pub(crate) fn done(
        &self,
        replayed: &Replayed,
        row: usize,
        counts: impl Fn(CallId) -> bool,
    ) -> Option<Ns> {
        let issued = |step: &RecordedStep| match step {
            RecordedStep::Call(CallOf { does: Does::Issue { works, .. }, .. }) => works.iter(),
            _ => 0..0,
        };
        let works = self.recorded.threads[row].iter().flat_map(issued);
        let last = works.map(|work| replayed.works[work].1).max().unwrap_or(Ns::MIN);
        self.last_call(replayed, row, counts).map(|call| call.max(last))
    }

    /// When an operation of the trace starts and ends in a replay, ns: in proportion if its work, a graph for instance, takes another
    /// time than `recorded`, by work ([`Recovered::spans`]).
    pub fn times(&self, trace: &Trace, replayed: &Replayed, op: OpId, recorded: &[Ns]) -> (Ns, Ns) {
        let (row, offset) = self.works[op.index()];
        let last = self.pieces.get(&row).unwrap_or(&row);
        let (start, end) = (replayed.works[row as usize].0, replayed.works[*last as usize].1);
        let span = recorded[row as usize];
        let at = |ns: Ns| if span == end - start { ns } else { part(ns, end - start, span) };
        (start + at(offset), start + at(offset + trace.ops.end[op.index()] - trace.ops.start[op.index()]))
    }

    /// By work: how long it took in the trace, ns.
    pub fn spans(&self, trace: &Trace) -> Vec<Ns> {
        let mut spans = vec![0; self.recorded.works.len()];
        for op in trace.ops.ids() {
            let (row, offset) = self.works[op.index()];
            let end = offset + trace.ops.end[op.index()] - trace.ops.start[op.index()];
            spans[row as usize] = end.max(spans[row as usize]);
        }
        spans
    }

    /// Becomes a copy of another one in the memory that it has: to get that much from the system takes longer than to fill it.
    pub(crate) fn become_copy_of(&mut self, other: &Recovered) {
        let Recovered { recorded, model, start, end, threads, .. } = other;
        let Recorded { workload, threads: steps, works, queues, exclusive, behind, awaited, .. } = recorded;
        let own = &mut self.recorded;
        own.workload.clone_from(workload);
        own.threads.clone_from(steps);
        own.works.clone_from(works);
        own.queues.clone_from(queues);
        own.exclusive.clone_from(exclusive);
        own.behind.clone_from(behind);
        own.awaited.clone_from(awaited);
        (own.signals, own.locks, own.holds) = (recorded.signals, recorded.locks, recorded.holds);
        self.model.clone_from(model);
        (self.start, self.end, self.once) = (*start, *end, other.once);
        self.threads.clone_from(threads);
        let Recovered { steps, begins, works, pieces, aliased, overtaken, turns, signals_together, .. } =
            other;
        self.modelled = other.modelled.clone();
        self.behind_queues = other.behind_queues.clone();
        (self.steps, self.begins, self.works) = (steps.clone(), begins.clone(), works.clone());
        self.pieces.clone_from(pieces);
        self.aliased.clone_from(aliased);
        self.overtaken.clone_from(overtaken);
        (self.turns, self.signals_together) = (*turns, *signals_together);
    }

    /// Runs the steps.
    ///
    /// # Errors
    /// The model has no room for them, or they wait for each other for ever.
    pub fn replay(&self) -> Result<Replayed, Error> {
        Ok(sim::run_recorded(&self.recorded, &self.model, Options::default())?)
    }
}
