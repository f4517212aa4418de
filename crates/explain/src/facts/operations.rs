//! The operations that calls issued, or what the calls' arguments name.

use super::Facts;
use super::copied::{Copied, CopyFacts};
use super::index;
use trace::{
    Argument, ArgumentId, CallId, Clock, CopyKind, DeviceId, OpId, OpKind, ProcessId, StreamId, Sym,
};

impl Facts<'_> {
    /// Whether the trace has any record of a GPU operation of the call's process. Listings of two runs are two processes, of which each lacks
    /// what the other has.
    pub fn has_operations(&self, call: CallId) -> bool {
        let processes =
            self.operations.processes.get_or_init(|| index::processes_with_operations(self.trace));
        processes.contains(&self.process(call)) || processes.contains(&ProcessId::NONE)
    }

    /// The operations that a call issued.
    pub fn ops(&self, call: CallId) -> &[OpId] {
        self.index.ops(call)
    }

    /// The stream of the call's first operation, else the one that its arguments name.
    pub fn stream(&self, call: CallId) -> StreamId {
        let of_arguments = |row: ArgumentId| self.trace.arguments.stream[row.index()].some();
        match self.ops(call).first() {
            Some(op) => self.trace.ops.stream[op.index()],
            None => self.operations.arguments.of(call).find_map(of_arguments).unwrap_or(StreamId::NONE),
        }
    }

    /// The kernels that a launch put into its stream: those that the GPU recorded, else the one that its arguments name.
    pub fn kernels(&self, call: CallId) -> impl Iterator<Item = Sym> {
        let (ops, arguments) = (&self.trace.ops, &self.trace.arguments);
        let recorded = self.ops(call).iter().filter(|op| ops.kind[op.index()] == OpKind::Kernel);
        let named = self.operations.arguments.of(call).map(|row| arguments.kernel[row.index()]);
        let named = named.filter(move |kernel| self.ops(call).is_empty() && !kernel.is_empty());
        recorded.map(|op| ops.name[op.index()]).chain(named)
    }

    /// The device a call works on: that of its operations, else that of its thread.
    pub fn device(&self, call: CallId) -> DeviceId {
        let device = self.trace.device_of_stream(self.stream(call));
        if device.is_some() { device } else { self.operations.thread_device[self.thread(call).index()] }
    }

    /// The copies of a call, taken together.
    pub fn copy(&self, call: CallId) -> Option<CopyFacts> {
        let ops = &self.trace.ops;
        let is_copy = |op: &&OpId| ops.kind[op.index()] == OpKind::Copy;
        let copies = || self.ops(call).iter().filter(is_copy);
        let first = *copies().min_by_key(|op| ops.start[op.index()])?;
        let at = first.index();
        let what = Copied { bytes: ops.bytes[at], kind: ops.copy[at], src: ops.src[at], dst: ops.dst[at] };
        let start = CopyFacts { first, start: ops.start[at], end: ops.end[at], what };
        Some(copies().filter(|op| **op != first).fold(start, |all, op| CopyFacts {
            start: all.start.min(ops.start[op.index()]),
            end: all.end.max(ops.end[op.index()]),
            what: Copied { bytes: all.what.bytes.saturating_add(ops.bytes[op.index()]), ..all.what },
            ..all
        }))
    }

    /// Copy that a call makes: from its copies on the GPU, else from its arguments.
    pub fn copied(&self, call: CallId) -> Option<Copied> {
        let arguments = || self.operations.arguments.of(call).map(|row| self.trace.arguments.row(row));
        let asked = || arguments().find(|row| row.copy != CopyKind::Unknown);
        let of_arguments =
            |row: Argument| Copied { bytes: row.bytes, kind: row.copy, src: row.src, dst: row.dst };
        self.copy(call).map(|copy| copy.what).or_else(|| asked().map(of_arguments))
    }

    /// Whether host and GPU times can be compared.
    pub fn one_clock(&self) -> bool {
        self.trace.meta.clock == Clock::Aligned
    }
}
