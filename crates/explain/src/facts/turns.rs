//! Turns of a process that is not in the trace: the GPU runs its kernels while this one's wait.

use super::Facts;
use trace::{Ns, OpId};

/// An operation that waits for so long though it was asked for, where nothing in the trace makes it wait, waits for another process's turn,
/// ns: a turn takes two milliseconds. A choice.
pub(crate) const TURN: Ns = 300_000;

/// Fewest such waits, one after the other, that are turns: a choice.
const OFTEN: usize = 5;

impl Facts<'_> {
    /// Whether another process that is not in the trace seems to use its GPU: operations wait again and again though they were asked for, and
    /// nothing in the trace is what they wait for.
    pub fn takes_turns(&self) -> bool {
        *self.habits.turns.get_or_init(|| {
            self.trace.devices.len() == 1 && self.order_names().is_empty() && self.idle_waits() >= OFTEN
        })
    }

    /// Operations that began long after they had been asked for, and after any other had ended.
    fn idle_waits(&self) -> usize {
        let ops = &self.trace.ops;
        let mut all: Vec<OpId> = ops.ids().collect();
        all.sort_unstable_by_key(|op| ops.start[op.index()]);
        let mut done = Ns::MAX;
        let waits = |op: &OpId| {
            let (start, end) = (ops.start[op.index()], ops.end[op.index()]);
            let call = self.outermost(ops.call[op.index()]).some();
            let asked = call.map_or(Ns::MAX, |call| self.end(call));
            let waited = start.saturating_sub(asked.max(done)) >= TURN;
            done = if done == Ns::MAX { end } else { done.max(end) };
            waited
        };
        all.iter().copied().filter(waits).count()
    }
}
