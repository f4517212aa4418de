//! Rows of tables by the outermost call that they belong to.

use crate::calls::CallOrder;
use trace::{CallId, OpId, Trace};

/// Rows of a table by the outermost call they belong to, in the table's order.
pub struct ByCall<T>(Vec<(CallId, T)>);

impl<T: Copy + Ord> ByCall<T> {
    /// Rows with their outermost calls; rows without one are left out.
    pub fn new(rows: impl Iterator<Item = (CallId, T)>) -> ByCall<T> {
        let mut rows: Vec<_> = rows.filter(|(call, _)| call.is_some()).collect();
        if !rows.is_sorted() {
            rows.sort_unstable();
        }
        ByCall(rows)
    }

    /// Rows of a call.
    pub fn of(&self, call: CallId) -> impl Iterator<Item = T> + Clone + '_ {
        let from = self.0.partition_point(|(other, _)| *other < call);
        self.0[from..].iter().take_while(move |(other, _)| *other == call).map(|(_, row)| *row)
    }

    /// The calls that have rows.
    pub fn calls(&self) -> impl Iterator<Item = CallId> + '_ {
        self.0.chunk_by(|a, b| a.0 == b.0).map(|rows| rows[0].0)
    }
}

/// Operations by the outermost call that issued them.
pub(crate) struct OpsByCall {
    /// Rows of a call `c` in `ops`: from `first[c]` to `first[c + 1]`.
    first: Vec<u32>,
    ops: Vec<OpId>,
}

impl OpsByCall {
    /// The operations of a trace, those of each call by start.
    pub fn new(order: &CallOrder<'_>, trace: &Trace) -> OpsByCall {
        let caller = |op: OpId| order.outermost(trace.ops.call[op.index()]).some();
        let mut first = vec![0u32; trace.calls.len() + 2];
        for call in trace.ops.ids().filter_map(caller) {
            first[call.index() + 2] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut ops = vec![OpId::NONE; first.last().map_or(0, |count| *count as usize)];
        for op in trace.ops.ids() {
            if let Some(call) = caller(op) {
                let next = &mut first[call.index() + 1];
                ops[*next as usize] = op;
                *next += 1;
            }
        }
        for call in trace.calls.ids() {
            let of_call = &mut ops[first[call.index()] as usize..first[call.index() + 1] as usize];
            if of_call.len() > 1 {
                of_call.sort_unstable_by_key(|op| (trace.ops.start[op.index()], *op));
            }
        }
        OpsByCall { first, ops }
    }

    /// The operations of an outermost call.
    pub fn of(&self, call: CallId) -> &[OpId] {
        &self.ops[self.first[call.index()] as usize..self.first[call.index() + 1] as usize]
    }
}
