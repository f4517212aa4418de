//! A trace while a database's rows fill it: what the readers of all schemas share.

use super::{Fault, Names, Source, Value};
use crate::Problem;
use crate::identities::Identities;
use crate::progress::Progress;
use trace::{Ns, Op, OpKind, Range, RangeKind, Sym, ThreadId, Trace};

/// The database on one side, the trace on the other.
pub(crate) struct Filling<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) names: Names<'a>,
    pub(crate) progress: Progress<'a>,
    pub(crate) ids: Identities,
    pub(crate) trace: Trace,
}

impl<'a> Filling<'a> {
    /// Calls `read` with the chosen columns of every row of a table, and counts rows that it rejects as lost.
    pub(crate) fn each<const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        mut read: impl FnMut(&mut Self, [Value<'_>; N]) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        self.each_both(table, columns, [], |filling, values, []| read(filling, values))
    }

    /// Like [`Filling::each`], but for columns in two groups.
    pub(crate) fn each_both<const M: usize, const N: usize>(
        &mut self,
        table: &str,
        first: [&str; M],
        second: [&str; N],
        mut read: impl FnMut(&mut Self, [Value<'_>; M], [Value<'_>; N]) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        let source = self.source;
        let faults = source.scan_both(table, first, second, |left, right| {
            self.progress.row();
            read(self, left, right)
        })?;
        faults.count(&mut self.trace.meta.lost);
        Ok(())
    }

    /// A process's thread, or none.
    pub(crate) fn thread(&mut self, thread: Option<(i64, i64)>) -> ThreadId {
        thread.map_or(ThreadId::NONE, |(pid, tid)| self.ids.thread(&mut self.trace, pid, tid))
    }

    /// Host time that the tracer or the driver took for itself.
    pub(crate) fn overhead(&mut self, (start, end): (Ns, Ns), thread: Option<(i64, i64)>, name: Sym) {
        let thread = self.thread(thread);
        let kind = RangeKind::Overhead;
        self.trace.ranges.push(Range { start, end, thread, kind, name, ..Range::default() });
    }

    /// The process of records that name none, if there is only one.
    pub(crate) fn only_process(&self) -> Option<i64> {
        match self.trace.processes.pid[..] {
            [] => Some(0),
            [pid] => Some(pid),
            _ => None,
        }
    }
}

/// An operation by what every GPU record has.
pub(crate) fn op((start, end): (Ns, Ns), correlation: Value<'_>, graph_node: Value<'_>) -> Op {
    let correlation = correlation.int().unwrap_or(0);
    Op { start, end, correlation, graph_node: graph_node.int().unwrap_or(0), ..Op::default() }
}

/// The columns of a kernel's sizes, as both schemas name them.
pub(crate) const SIZES: [&str; 9] = [
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
    "registersPerThread",
    "staticSharedMemory",
    "dynamicSharedMemory",
];

/// Makes a kernel of an operation: its name, and its sizes in the order of [`SIZES`].
pub(crate) fn kernel(op: &mut Op, name: Sym, sizes: [Value<'_>; 9]) {
    op.kind = OpKind::Kernel;
    op.name = name;
    let sizes = sizes.map(Value::size);
    [op.grid_x, op.grid_y, op.grid_z, op.block_x, op.block_y, op.block_z, ..] = sizes;
    [.., op.registers, op.static_shared, op.dynamic_shared] = sizes;
}
