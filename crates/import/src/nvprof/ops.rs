//! GPU operations (copies, fills, kernels) and synchronizations.

use super::reader::{Nvprof, times};
use crate::sqlite::{self, Fault, Filling, SIZES, Value};
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
        let pid = self.rows.only_process();
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
        self.rows.source.scan("CUPTI_ACTIVITY_KIND_CONTEXT", ["contextId", "deviceId"], read)?.ignore();
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
        let [x, y, z, block_x, block_y, block_z, registers, fixed, dynamic] = SIZES;
        let columns = ["name", x, y, z, block_x, block_y, block_z, registers, fixed, dynamic];
        self.read_ops(table, columns, pid, |rows, op, [name, sizes @ ..]| {
            let name = rows.names.sym(&mut rows.trace.strings, name)?;
            sqlite::kernel(op, name, sizes);
            Ok(())
        })
    }

    /// Reads a table of GPU records: what they have in common here, the rest by `fill`.
    fn read_ops<const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        pid: Option<i64>,
        fill: impl Fn(&mut Filling<'_>, &mut Op, [Value<'_>; N]) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        let Nvprof { rows, device_of } = self;
        rows.each_both(table, COMMON, columns, |rows, common, values| {
            let [start, end, device, context, stream, correlation, graph_node] = common;
            let times = times(start, end)?;
            let pid = pid.ok_or("names no process in a trace of several")?;
            let mut op = sqlite::op(times, correlation, graph_node);
            fill(rows, &mut op, values)?;
            let (device, context) = (device.int().unwrap_or(0), context.int().unwrap_or(0));
            device_of.insert(context, device);
            op.stream = rows.ids.stream(&mut rows.trace, pid, device, context, stream.int().unwrap_or(0));
            rows.trace.ops.push(op);
            Ok(())
        })
    }

    fn syncs(&mut self, pid: Option<i64>) -> Result<(), Problem> {
        let columns = ["start", "end", "type", "contextId", "streamId", "cudaEventId", "correlationId"];
        let Nvprof { rows, device_of } = self;
        rows.each(
            SYNCHRONIZATION,
            columns,
            |rows, [start, end, kind, context, stream, event, correlation]| {
                let Filling { ids, trace, .. } = rows;
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
            },
        )
    }
}

/// A 32-bit id; `None` for the value that means "none", with either sign.
fn id(value: Value) -> Option<i64> {
    value.int().filter(|&id| id != 0xffff_ffff && id != -1)
}

fn number(value: Value) -> i64 {
    value.int().unwrap_or(0)
}
