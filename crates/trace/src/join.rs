//! Joins calls with the GPU operations and synchronizations they caused.

use crate::captures::Captures;
use crate::{CallId, ProcessId, Trace};

/// Finds the call with a correlation id within a process.
///
/// Correlation ids repeat across processes, so the process is part of the key. Within one
/// process the first call with an id wins.
pub struct CorrelationIndex {
    /// By process; the last is for calls whose process is unknown.
    processes: Vec<CallIds>,
}

/// The calls of a process by their ids.
enum CallIds {
    /// Sorted by id, then call.
    Sparse(Vec<(i64, CallId)>),
    /// Tracers count: with few gaps between the ids, each call has a place.
    Dense { first: i64, calls: Vec<CallId> },
}

/// So many places may be empty for each that is not: as sparse calls take as much memory.
const GAPS: i64 = 4;

/// The ids of a process's calls.
#[derive(Clone, Copy)]
struct Ids {
    count: usize,
    first: i64,
    last: i64,
}

impl CorrelationIndex {
    /// Indexes all calls that have a correlation id.
    pub fn new(trace: &Trace) -> CorrelationIndex {
        let calls = &trace.calls;
        let with_id = || {
            let with_id = calls.ids().filter(|call| calls.correlation[*call] != 0);
            with_id.map(|call| {
                let process = trace.process_of_thread(calls.thread[call]);
                (place(trace.processes.len(), process), calls.correlation[call], call)
            })
        };
        let none = Ids { count: 0, first: i64::MAX, last: i64::MIN };
        let mut ids = vec![none; trace.processes.len() + 1];
        for (process, id, _) in with_id() {
            let ids = &mut ids[process];
            *ids = Ids { count: ids.count + 1, first: ids.first.min(id), last: ids.last.max(id) };
        }
        let mut processes: Vec<CallIds> = ids.into_iter().map(CallIds::new).collect();
        with_id().for_each(|(process, id, call)| processes[process].add(id, call));
        processes.iter_mut().for_each(CallIds::finish);
        CorrelationIndex { processes }
    }

    /// The call, or [`CallId::NONE`].
    pub fn call(&self, process: ProcessId, correlation: i64) -> CallId {
        let processes = self.processes.len() - 1;
        match &self.processes[place(processes, process)] {
            CallIds::Dense { first, calls } => {
                let at = correlation.checked_sub(*first).and_then(|at| usize::try_from(at).ok());
                at.and_then(|at| calls.get(at)).copied().unwrap_or_default()
            }
            CallIds::Sparse(calls) => {
                let at = calls.partition_point(|(id, _)| *id < correlation);
                calls.get(at).filter(|(id, _)| *id == correlation).map_or(CallId::NONE, |(_, call)| *call)
            }
        }
    }
}

/// Place of a process in the index of so many.
fn place(processes: usize, process: ProcessId) -> usize {
    process.some().map_or(processes, |process| process.index().min(processes))
}

impl CallIds {
    fn new(ids: Ids) -> CallIds {
        let most = (ids.count as i64).saturating_mul(GAPS);
        match ids.last.checked_sub(ids.first) {
            Some(gap) if (0..most).contains(&gap) => {
                CallIds::Dense { first: ids.first, calls: vec![CallId::NONE; gap as usize + 1] }
            }
            _ => CallIds::Sparse(Vec::with_capacity(ids.count)),
        }
    }

    fn add(&mut self, id: i64, call: CallId) {
        match self {
            CallIds::Sparse(calls) => calls.push((id, call)),
            CallIds::Dense { first, calls } => {
                let place = &mut calls[(id - *first) as usize];
                if place.is_none() {
                    *place = call;
                }
            }
        }
    }

    fn finish(&mut self) {
        if let CallIds::Sparse(calls) = self
            && !calls.is_sorted()
        {
            calls.sort_unstable();
        }
    }
}

impl Trace {
    /// Fills `ops.call` and `syncs.call` from process and correlation id, and counts calls and operations
    /// without a partner in [`crate::Lost`].
    pub fn join(&mut self) {
        let index = CorrelationIndex::new(self);
        let mut has_op = vec![false; self.calls.len()];
        let mut unmatched_ops = 0;
        for at in 0..self.ops.len() {
            let process = self.process_of_stream(self.ops.stream[at]);
            let call = index.call(process, self.ops.correlation[at]);
            self.ops.call[at] = call;
            match call.some() {
                Some(call) => has_op[call] = true,
                // Unified-memory migrations belong to no call and carry no id: nothing is lost.
                None => unmatched_ops += u64::from(self.ops.correlation[at] != 0),
            }
        }
        let with_id = |at: &usize| self.syncs.correlation[*at] != 0;
        for at in (0..self.syncs.len()).filter(with_id).collect::<Vec<_>>() {
            self.syncs.call[at] = index.call(self.syncs.process[at], self.syncs.correlation[at]);
        }
        self.meta.lost.unmatched_ops = unmatched_ops;
        self.meta.lost.unmatched_calls = self.unmatched_calls(&index, &has_op);
    }

    /// Successful launches without a GPU operation, in a trace that has operations, or that lacks them although it names a GPU; our own
    /// recordings may have been asked for calls alone. A driver call with the
    /// correlation id of the runtime call around it shares that call's operation. A call without an id cannot
    /// have an operation, and one that is captured into a graph has none yet.
    fn unmatched_calls(&self, index: &CorrelationIndex, has_op: &[bool]) -> u64 {
        if self.ops.is_empty() && (self.devices.is_empty() || self.meta.source == "holdup") {
            return 0;
        }
        let asks_for_work: Vec<bool> = self.strings.iter().map(|(_, name)| asks_for_work(name)).collect();
        let calls = &self.calls;
        let shares = |at: usize| {
            let process = self.process_of_thread(calls.thread[at]);
            let first = index.call(process, calls.correlation[at]).some();
            first.is_some_and(|first| has_op[first])
        };
        let captures = Captures::new(self);
        let captured = |at: usize| captures.at(calls.thread[at], calls.start[at]);
        let lonely = (0..calls.len()).filter(|&at| {
            let counts = calls.correlation[at] != 0 && calls.result[at] == 0;
            counts && !has_op[at] && asks_for_work[calls.name[at].index()] && !shares(at) && !captured(at)
        });
        lonely.count() as u64
    }
}

/// Whether a call always causes a GPU operation of its own: only kernel launches do. A copy may be between host
/// addresses or of no bytes, and a graph may have no nodes.
fn asks_for_work(name: &str) -> bool {
    name.starts_with("cudaLaunchKernel") || name.starts_with("cuLaunchKernel") || name == "hipLaunchKernel"
}

#[cfg(test)]
mod tests {
    use crate::*;

    #[test]
    fn the_first_call_with_an_id_is_found_in_its_process_however_the_ids_lie() {
        for ids in [[7, 5, 6, 5, 8], [i64::MIN, 5, i64::MAX, 5, 1 << 40]] {
            let mut trace = Trace::default();
            let processes = [1, 2].map(|pid| trace.processes.push(Process { pid, ..Process::default() }));
            let mut calls = Vec::new();
            for process in [processes[0], processes[1], ProcessId::NONE] {
                let thread = trace.threads.push(Thread { process, ..Thread::default() });
                for correlation in ids.into_iter().chain([0]) {
                    calls.push(trace.calls.push(Call { thread, correlation, ..Call::default() }));
                }
            }
            let index = CorrelationIndex::new(&trace);
            for (process, first) in [(processes[0], 0), (processes[1], 6), (ProcessId::NONE, 12)] {
                let expected = [0, 1, 2, 1, 4].map(|at| calls[first + at]);
                assert_eq!(ids.map(|id| index.call(process, id)), expected);
                assert_eq!([0, 4, 9, -1].map(|id| index.call(process, id)), [CallId::NONE; 4]);
            }
        }
    }
}
