//! Joins calls with the GPU operations and synchronizations they caused.

use crate::captures::Captures;
use crate::{CallId, ProcessId, Trace};

/// Finds the call with a correlation id within a process.
///
/// Correlation ids repeat across processes, so the process is part of the key. Within one
/// process the first call with an id wins.
pub struct CorrelationIndex {
    /// Sorted by process, then correlation id, then call.
    keys: Vec<(u32, i64, CallId)>,
}

impl CorrelationIndex {
    /// Indexes all calls that have a correlation id.
    pub fn new(trace: &Trace) -> CorrelationIndex {
        let calls = &trace.calls;
        let with_id = calls.ids().filter(|call| calls.correlation[call.index()] != 0);
        let mut keys: Vec<_> = with_id
            .map(|call| {
                let process = trace.process_of_thread(calls.thread[call.index()]);
                (process.0, calls.correlation[call.index()], call)
            })
            .collect();
        if !keys.is_sorted() {
            keys.sort_unstable();
        }
        CorrelationIndex { keys }
    }

    /// The call, or [`CallId::NONE`].
    pub fn call(&self, process: ProcessId, correlation: i64) -> CallId {
        let at = self.keys.partition_point(|&(p, c, _)| (p, c) < (process.0, correlation));
        match self.keys.get(at) {
            Some(&(p, c, call)) if (p, c) == (process.0, correlation) => call,
            _ => CallId::NONE,
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
                Some(call) => has_op[call.index()] = true,
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

    /// Successful launches without a GPU operation, in a trace that has operations. A driver call with the
    /// correlation id of the runtime call around it shares that call's operation. A call without an id cannot
    /// have an operation, and one that is captured into a graph has none yet.
    fn unmatched_calls(&self, index: &CorrelationIndex, has_op: &[bool]) -> u64 {
        if self.ops.is_empty() {
            return 0;
        }
        let asks_for_work: Vec<bool> = self.strings.iter().map(|(_, name)| asks_for_work(name)).collect();
        let calls = &self.calls;
        let shares = |at: usize| {
            let process = self.process_of_thread(calls.thread[at]);
            let first = index.call(process, calls.correlation[at]).some();
            first.is_some_and(|first| has_op[first.index()])
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
