//! GPU operations (copies, fills, kernels, whole graphs) and synchronizations.

use super::kinds::Kinds;
use super::machine::Machine;
use super::reader::{Nsys, TIMES, process};
use crate::Problem;
use crate::sqlite::{self, Fault, Filling, SIZES, Value, interval};
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
        let only = self.rows.only_process();
        self.copies(only)?;
        self.fills(only)?;
        self.kernels(only)?;
        self.graphs(only)?;
        self.syncs(only)
    }

    fn copies(&mut self, only: Option<i64>) -> Result<(), Problem> {
        self.read_ops(MEMCPY, ["bytes", "copyKind", "srcKind", "dstKind"], only, |_, kinds, op, values| {
            let [bytes, copy, src, dst] = values;
            op.kind = OpKind::Copy;
            op.bytes = bytes.int().unwrap_or(0);
            op.copy = kinds.copy(copy);
            op.src = kinds.memory(src);
            op.dst = kinds.memory(dst);
            Ok(())
        })
    }

    fn fills(&mut self, only: Option<i64>) -> Result<(), Problem> {
        self.read_ops(MEMSET, ["bytes", "memKind"], only, |_, kinds, op, [bytes, kind]| {
            op.kind = OpKind::Memset;
            op.bytes = bytes.int().unwrap_or(0);
            op.dst = kinds.memory(kind);
            Ok(())
        })
    }

    fn kernels(&mut self, only: Option<i64>) -> Result<(), Problem> {
        let [x, y, z, block_x, block_y, block_z, registers, fixed, dynamic] = SIZES;
        let columns =
            ["demangledName", "shortName", x, y, z, block_x, block_y, block_z, registers, fixed, dynamic];
        self.read_ops(KERNEL, columns, only, |rows, _, op, [demangled, short, sizes @ ..]| {
            let strings = &mut rows.trace.strings;
            let name = match rows.names.sym(strings, demangled) {
                Err(Fault::Row(_)) => rows.names.sym(strings, short)?,
                name => name?,
            };
            sqlite::kernel(op, name, sizes);
            Ok(())
        })
    }

    fn graphs(&mut self, only: Option<i64>) -> Result<(), Problem> {
        self.read_ops(GRAPH, [], only, |rows, _, op, []| {
            op.kind = OpKind::Kernel;
            op.name = rows.trace.strings.intern("CUDA graph");
            Ok(())
        })
    }

    /// Reads a table of GPU records: what they have in common here, the rest by `fill`.
    fn read_ops<const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        only: Option<i64>,
        fill: impl Fn(&mut Filling<'_>, &Kinds, &mut Op, [Value<'_>; N]) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        let Nsys { rows, kinds, machine } = self;
        rows.each_both(table, COMMON, columns, |rows, common, values| {
            let [start, end, pid, device, context, stream, correlation, graph_node] = common;
            let mut op = sqlite::op(interval(start, end, &TIMES)?, correlation, graph_node);
            fill(rows, kinds, &mut op, values)?;
            op.stream = self::stream(rows, machine, process(pid, only)?, [device, context, stream]);
            rows.trace.ops.push(op);
            Ok(())
        })
    }

    fn syncs(&mut self, only: Option<i64>) -> Result<(), Problem> {
        let columns = ["syncType", "deprecatedSyncType", "eventId"];
        let Nsys { rows, kinds, machine } = self;
        rows.each_both(SYNCHRONIZATION, COMMON, columns, |rows, common, [kind, old_kind, event]| {
            let [start, end, pid, device, context, stream, correlation, _] = common;
            let (start, end) = interval(start, end, &TIMES)?;
            let pid = process(pid, only)?;
            let stream = match stream.int() {
                None | Some(NONE | -1) => StreamId::NONE,
                Some(_) => self::stream(rows, machine, pid, [device, context, stream]),
            };
            let process = rows.ids.process(&mut rows.trace, pid);
            rows.trace.syncs.push(Sync {
                start,
                end,
                kind: kinds.sync(if kind.is_null() { old_kind } else { kind }),
                process,
                stream,
                event: event.int().filter(|&event| event != NONE).unwrap_or(0),
                correlation: correlation.int().unwrap_or(0),
                ..Sync::default()
            });
            Ok(())
        })
    }
}

fn stream(rows: &mut Filling<'_>, machine: &Machine, pid: i64, numbers: [Value<'_>; 3]) -> StreamId {
    let [device, context, stream] = numbers.map(|number| number.int().unwrap_or(0));
    let device = machine.ordinal(pid, device);
    rows.ids.stream(&mut rows.trace, pid, device, context, stream)
}
