//! GPU operations (copies, fills, kernels, whole graphs) and synchronizations.

use super::{Nsys, TIMES, process};
use crate::Problem;
use crate::sqlite::{Fault, Value, interval};
use trace::{Op, OpKind, StreamId, Sync};

pub(super) const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
pub(super) const MEMSET: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
pub(super) const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
pub(super) const GRAPH: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
pub(super) const SYNCHRONIZATION: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";

/// Every GPU record starts with these columns.
const COMMON: [&str; 8] =
    ["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId", "graphNodeId"];

/// The value of a 32-bit column that means "none".
const NONE: i64 = 0xffff_ffff;

impl Nsys<'_> {
    pub(super) fn ops(&mut self) -> Result<(), Problem> {
        let only = match self.trace.processes.pid[..] {
            [] => Some(0),
            [pid] => Some(pid),
            _ => None,
        };
        self.copies(only)?;
        self.fills(only)?;
        self.kernels(only)?;
        self.graphs(only)?;
        self.syncs(only)
    }

    fn copies(&mut self, only: Option<i64>) -> Result<(), Problem> {
        self.read_ops(MEMCPY, ["bytes", "copyKind", "srcKind", "dstKind"], only, |reader, op, values| {
            let [bytes, copy, src, dst] = values;
            op.kind = OpKind::Copy;
            op.bytes = bytes.int().unwrap_or(0);
            op.copy = reader.kinds.copy(copy);
            op.src = reader.kinds.memory(src);
            op.dst = reader.kinds.memory(dst);
            Ok(())
        })
    }

    fn fills(&mut self, only: Option<i64>) -> Result<(), Problem> {
        self.read_ops(MEMSET, ["bytes", "memKind"], only, |reader, op, [bytes, kind]| {
            op.kind = OpKind::Memset;
            op.bytes = bytes.int().unwrap_or(0);
            op.dst = reader.kinds.memory(kind);
            Ok(())
        })
    }

    fn kernels(&mut self, only: Option<i64>) -> Result<(), Problem> {
        let columns = [
            "demangledName",
            "shortName",
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
        self.read_ops(KERNEL, columns, only, |reader, op, values| {
            let [demangled, short, sizes @ ..] = values;
            let strings = &mut reader.trace.strings;
            op.kind = OpKind::Kernel;
            op.name = match reader.names.sym(strings, demangled) {
                Err(Fault::Row(_)) => reader.names.sym(strings, short)?,
                name => name?,
            };
            [op.grid_x, op.grid_y, op.grid_z, op.block_x, op.block_y, op.block_z, ..] =
                sizes.map(Value::size);
            [.., op.registers, op.static_shared, op.dynamic_shared] = sizes.map(Value::size);
            Ok(())
        })
    }

    fn graphs(&mut self, only: Option<i64>) -> Result<(), Problem> {
        self.read_ops(GRAPH, [], only, |reader, op, []| {
            op.kind = OpKind::Kernel;
            op.name = reader.trace.strings.intern("CUDA graph");
            Ok(())
        })
    }

    /// Reads a table of GPU records: the common columns here, the others with `fill`.
    fn read_ops<const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        only: Option<i64>,
        mut fill: impl FnMut(&mut Self, &mut Op, [Value; N]) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        let source = self.source;
        let read = |common: [Value; 8], values: [Value; N]| {
            self.progress.row();
            let [start, end, pid, device, context, stream, correlation, graph_node] = common;
            let (start, end) = interval(start, end, &TIMES)?;
            let correlation = correlation.int().unwrap_or(0);
            let graph_node = graph_node.int().unwrap_or(0);
            let mut op = Op { start, end, correlation, graph_node, ..Op::default() };
            fill(self, &mut op, values)?;
            op.stream = self.stream(process(pid, only)?, device, context, stream);
            self.trace.ops.push(op);
            Ok(())
        };
        let faults = source.scan_both(table, COMMON, columns, read)?;
        faults.count(&mut self.trace.meta.lost);
        Ok(())
    }

    fn stream(&mut self, pid: i64, device: Value, context: Value, stream: Value) -> StreamId {
        let device = self.machine.ordinal(pid, device.int().unwrap_or(0));
        let (context, stream) = (context.int().unwrap_or(0), stream.int().unwrap_or(0));
        self.ids.stream(&mut self.trace, pid, device, context, stream)
    }

    fn syncs(&mut self, only: Option<i64>) -> Result<(), Problem> {
        let columns = ["syncType", "deprecatedSyncType", "eventId"];
        let source = self.source;
        let read = |common: [Value; 8], [kind, old_kind, event]: [Value; 3]| {
            self.progress.row();
            let [start, end, pid, device, context, stream, correlation, _] = common;
            let (start, end) = interval(start, end, &TIMES)?;
            let pid = process(pid, only)?;
            let stream = match stream.int() {
                None | Some(NONE | -1) => StreamId::NONE,
                Some(_) => self.stream(pid, device, context, stream),
            };
            let process = self.ids.process(&mut self.trace, pid);
            self.trace.syncs.push(Sync {
                start,
                end,
                kind: self.kinds.sync(if kind.is_null() { old_kind } else { kind }),
                process,
                stream,
                event: event.int().filter(|&event| event != NONE).unwrap_or(0),
                correlation: correlation.int().unwrap_or(0),
                ..Sync::default()
            });
            Ok(())
        };
        let faults = source.scan_both(SYNCHRONIZATION, COMMON, columns, read)?;
        faults.count(&mut self.trace.meta.lost);
        Ok(())
    }
}
