//! The tracer's own work and threads.

use super::Facts;
use trace::{CallId, RangeId, ThreadId, ThreadRole};

impl Facts<'_> {
    /// Whether the trace has records of the tracer's own work.
    pub fn has_overheads(&self) -> bool {
        !self.tracer.overheads.is_empty()
    }

    /// Whether a thread is the tracer's own.
    pub fn is_tracer(&self, thread: ThreadId) -> bool {
        thread.some().is_some_and(|thread| self.trace.threads.role[thread.index()] == ThreadRole::Tracer)
    }

    /// The tracer's own work during a call, by start.
    pub fn overheads_during(&self, call: CallId) -> Vec<RangeId> {
        let starts = &self.trace.ranges.start;
        let began = self.tracer.overheads.partition_point(|range| starts[range.index()] < self.end(call));
        let during = self.tracer.overhead_ends.above(self.start(call), began);
        let mut during: Vec<_> = during.map(|at| self.tracer.overheads[at]).collect();
        during.reverse();
        during
    }
}
