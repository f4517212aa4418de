//! GPU operations: copies, fills and kernels. The tables of all tools have CUPTI's columns, and few differ.

use super::{Builder, Fault, Value};
use crate::Problem;
use trace::{CopyKind, MemoryKind, Ns, Op, OpKind, StreamId};

/// Tables and columns in which the schemas differ, and the meaning of their numbers.
pub(crate) trait Schema {
    const COPIES: &'static [&'static str];
    const FILLS: &'static str;
    /// The column of a fill's kind of memory.
    const FILLED: &'static str;
    const KERNELS: &'static [&'static str];
    /// The columns of a kernel's name: the second one counts if the first one has none.
    const KERNEL_NAMES: [&'static str; 2];

    /// The start and end of a record, ns.
    fn times(&self, start: Value, end: Value) -> Result<(Ns, Ns), Fault>;

    fn copy(&self, kind: Value) -> CopyKind;

    fn memory(&self, kind: Value) -> MemoryKind;

    /// The number of a GPU in the trace, from a process's CUDA device index.
    fn ordinal(&self, pid: i64, device: i64) -> i64;

    /// The process of a GPU record, by its `globalPid`.
    fn process(&self, global: Value) -> Result<i64, Fault>;
}

/// Columns of every GPU record.
pub(crate) const COMMON: [&str; 8] =
    ["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId", "graphNodeId"];

/// Columns of a kernel's sizes.
const SIZES: [&str; 9] = [
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

impl Builder<'_> {
    /// Reads copies, fills and kernels.
    pub(crate) fn ops<S: Schema>(&mut self, schema: &S) -> Result<(), Problem> {
        for table in S::COPIES {
            let columns = ["bytes", "copyKind", "srcKind", "dstKind"];
            self.ops_of(schema, table, columns, |_, op, [bytes, copy, src, dst]| {
                op.kind = OpKind::Copy;
                op.bytes = bytes.int().unwrap_or(0);
                op.copy = schema.copy(copy);
                op.src = schema.memory(src);
                op.dst = schema.memory(dst);
                Ok(())
            })?;
        }
        self.ops_of(schema, S::FILLS, ["bytes", S::FILLED], |_, op, [bytes, kind]| {
            op.kind = OpKind::Memset;
            op.bytes = bytes.int().unwrap_or(0);
            op.dst = schema.memory(kind);
            Ok(())
        })?;
        S::KERNELS.iter().try_for_each(|table| self.kernels(schema, table))
    }

    fn kernels<S: Schema>(&mut self, schema: &S, table: &str) -> Result<(), Problem> {
        let [name, other] = S::KERNEL_NAMES;
        let [x, y, z, block_x, block_y, block_z, registers, fixed, dynamic] = SIZES;
        let columns = [name, other, x, y, z, block_x, block_y, block_z, registers, fixed, dynamic];
        self.ops_of(schema, table, columns, |builder, op, [name, other, sizes @ ..]| {
            let strings = &mut builder.trace.strings;
            op.kind = OpKind::Kernel;
            op.name = match builder.names.sym(strings, name) {
                Err(Fault::Row(_)) => builder.names.sym(strings, other)?,
                name => name?,
            };
            let sizes = sizes.map(Value::size);
            [op.grid_x, op.grid_y, op.grid_z, op.block_x, op.block_y, op.block_z, ..] = sizes;
            [.., op.registers, op.static_shared, op.dynamic_shared] = sizes;
            Ok(())
        })
    }

    /// Reads a table of GPU records: what they have in common here, the rest by `fill`.
    pub(crate) fn ops_of<const N: usize>(
        &mut self,
        schema: &impl Schema,
        table: &str,
        columns: [&str; N],
        fill: impl Fn(&mut Builder<'_>, &mut Op, [Value<'_>; N]) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        self.each_both(table, COMMON, columns, |builder, common, values| {
            let [start, end, pid, device, context, stream, correlation, graph_node] = common;
            let (start, end) = schema.times(start, end)?;
            let [correlation, graph_node] = [correlation, graph_node].map(|number| number.int().unwrap_or(0));
            let mut op = Op { start, end, correlation, graph_node, ..Op::default() };
            fill(builder, &mut op, values)?;
            op.stream = builder.stream(schema, schema.process(pid)?, [device, context, stream]);
            builder.trace.ops.push(op);
            Ok(())
        })
    }

    /// The stream of a process by its device, its context and its number.
    pub(crate) fn stream(&mut self, schema: &impl Schema, pid: i64, numbers: [Value<'_>; 3]) -> StreamId {
        let [device, context, stream] = numbers.map(|number| number.int().unwrap_or(0));
        self.ids.stream(&mut self.trace, pid, schema.ordinal(pid, device), context, stream)
    }
}
