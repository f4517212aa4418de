//! GPU operations (copies, fills, kernels) and synchronizations.

use super::{Nvprof, times};
use crate::sqlite::{Fault, Value};
use crate::{Problem, cupti};
use trace::{Op, OpKind, ProcessId, StreamId, Sync};

pub(super) const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
/// Copies between devices.
pub(super) const MEMCPY2: &str = "CUPTI_ACTIVITY_KIND_MEMCPY2";
pub(super) const MEMSET: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
pub(super) const KERNELS: [&str; 2] = ["CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL"];
pub(super) const SYNCHRONIZATION: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";

/// Every GPU record has these columns.
const COMMON: [&str; 7] =
    ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "graphNodeId"];

impl Nvprof<'_> {
    pub(super) fn ops(&mut self) -> Result<(), Problem> {
        self.contexts()?;
        let pid = match self.trace.processes.pid[..] {
            [] => Some(0),
            [pid] => Some(pid),
            _ => None,
        };
        for table in [MEMCPY, MEMCPY2] {
            self.copies(table, pid)?;
        }
        self.fills(pid)?;
        for table in KERNELS {
            self.kernels(table, pid)?;
        }
        self.syncs(pid)
    }

    fn contexts(&mut self) -> Result<(), Problem> {
        let read = |[context, device]: [Value; 2]| {
            self.device_of.extend(context.int().zip(device.int()));
            Ok(())
        };
        self.source.scan("CUPTI_ACTIVITY_KIND_CONTEXT", ["contextId", "deviceId"], read)?.ignore();
        Ok(())
    }

    fn copies(&mut self, table: &str, pid: Option<i64>) -> Result<(), Problem> {
        self.read_ops(table, ["bytes", "copyKind", "srcKind", "dstKind"], pid, |_, op, values| {
            let [bytes, copy, src, dst] = values;
            op.kind = OpKind::Copy;
            op.bytes = bytes.int().unwrap_or(0);
            op.copy = cupti::copy(number(copy));
            op.src = cupti::memory(number(src));
            op.dst = cupti::memory(number(dst));
            Ok(())
        })
    }

    fn fills(&mut self, pid: Option<i64>) -> Result<(), Problem> {
        self.read_ops(MEMSET, ["bytes", "memoryKind"], pid, |_, op, [bytes, kind]| {
            op.kind = OpKind::Memset;
            op.bytes = bytes.int().unwrap_or(0);
            op.dst = cupti::memory(number(kind));
            Ok(())
        })
    }

    fn kernels(&mut self, table: &str, pid: Option<i64>) -> Result<(), Problem> {
        let columns = [
            "name",
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
        self.read_ops(table, columns, pid, |reader, op, [name, sizes @ ..]| {
            op.kind = OpKind::Kernel;
            op.name = reader.names.sym(&mut reader.trace.strings, name)?;
            [op.grid_x, op.grid_y, op.grid_z, op.block_x, op.block_y, op.block_z, ..] =
                sizes.map(Value::size);
            [.., op.registers, op.static_shared, op.dynamic_shared] = sizes.map(Value::size);
            Ok(())
        })
    }

    /// Reads a table of GPU records: the common columns here, the others with `fill`.
    fn read_ops<const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        pid: Option<i64>,
        mut fill: impl FnMut(&mut Self, &mut Op, [Value; N]) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        let source = self.source;
        let read = |common: [Value; 7], values: [Value; N]| {
            self.progress.row();
            let [start, end, device, context, stream, correlation, graph_node] = common;
            let (start, end) = times(start, end)?;
            let pid = pid.ok_or("names no process in a trace of several")?;
            let correlation = correlation.int().unwrap_or(0);
            let graph_node = graph_node.int().unwrap_or(0);
            let mut op = Op { start, end, correlation, graph_node, ..Op::default() };
            fill(self, &mut op, values)?;
            let (device, context) = (device.int().unwrap_or(0), context.int().unwrap_or(0));
            self.device_of.insert(context, device);
            op.stream = self.ids.stream(&mut self.trace, pid, device, context, stream.int().unwrap_or(0));
            self.trace.ops.push(op);
            Ok(())
        };
        let faults = source.scan_both(table, COMMON, columns, read)?;
        faults.count(&mut self.trace.meta.lost);
        Ok(())
    }

    fn syncs(&mut self, pid: Option<i64>) -> Result<(), Problem> {
        let columns = ["start", "end", "type", "contextId", "streamId", "cudaEventId", "correlationId"];
        let Nvprof { source, progress, ids, trace, device_of, .. } = self;
        let read = |[start, end, kind, context, stream, event, correlation]: [Value; 7]| {
            progress.row();
            let (start, end) = times(start, end)?;
            let process = pid.map_or(ProcessId::NONE, |pid| ids.process(trace, pid));
            let device = context.int().and_then(|context| device_of.get(&context).copied());
            let stream = match (pid, device, context.int(), id(stream)) {
                (Some(pid), Some(device), Some(context), Some(stream)) => {
                    ids.stream(trace, pid, device, context, stream)
                }
                _ => StreamId::NONE,
            };
            trace.syncs.push(Sync {
                start,
                end,
                kind: cupti::sync(number(kind)),
                process,
                stream,
                event: id(event).unwrap_or(0),
                correlation: correlation.int().unwrap_or(0),
                ..Sync::default()
            });
            Ok(())
        };
        let faults = source.scan(SYNCHRONIZATION, columns, read)?;
        faults.count(&mut trace.meta.lost);
        Ok(())
    }
}

/// A 32-bit id; `None` for the value that means "none", with either sign.
fn id(value: Value) -> Option<i64> {
    value.int().filter(|&id| id != 0xffff_ffff && id != -1)
}

fn number(value: Value) -> i64 {
    value.int().unwrap_or(0)
}
