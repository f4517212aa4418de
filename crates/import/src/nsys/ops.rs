//! GPU operations (copies, fills, kernels, whole graphs) and synchronizations.

use super::kinds::Kinds;
use super::machine::Machine;
use super::reader::{Nsys, TIMES};
use crate::Problem;
use crate::sqlite::{COMMON, Fault, Schema, Value, interval};
use trace::{CopyKind, MemoryKind, Ns, OpKind, StreamId, Sync};

pub(super) const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
pub(super) const MEMSET: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
pub(super) const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
pub(super) const GRAPH: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
pub(super) const SYNCHRONIZATION: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";

/// The value of a 32-bit column that means "none".
const NONE: i64 = 0xffff_ffff;

/// Meaning of the numbers in GPU records.
struct Numbers<'a> {
    kinds: &'a Kinds,
    machine: &'a Machine,
    /// The process of records that name none.
    only: Option<i64>,
}

impl Schema for Numbers<'_> {
    const COPIES: &'static [&'static str] = &[MEMCPY];
    const FILLS: &'static str = MEMSET;
    const FILLED: &'static str = "memKind";
    const KERNELS: &'static [&'static str] = &[KERNEL];
    const KERNEL_NAMES: [&'static str; 2] = ["demangledName", "shortName"];

    fn times(&self, start: Value, end: Value) -> Result<(Ns, Ns), Fault> {
        interval(start, end, &TIMES)
    }

    fn copy(&self, kind: Value) -> CopyKind {
        self.kinds.copy(kind)
    }

    fn memory(&self, kind: Value) -> MemoryKind {
        self.kinds.memory(kind)
    }

    fn ordinal(&self, pid: i64, device: i64) -> i64 {
        self.machine.ordinal(pid, device)
    }

    fn process(&self, global: Value) -> Result<i64, Fault> {
        let named = global.int().map(|global| global >> 24 & 0xff_ffff);
        Ok(named.or(self.only).ok_or("names no process in a trace of several")?)
    }
}

impl Nsys<'_> {
    pub(super) fn ops(&mut self) -> Result<(), Problem> {
        let Nsys { rows, kinds, machine } = self;
        let numbers = Numbers { kinds, machine, only: rows.only_process() };
        rows.ops(&numbers)?;
        rows.ops_of(&numbers, GRAPH, [], |rows, op, []| {
            op.kind = OpKind::Kernel;
            op.name = rows.trace.strings.intern("CUDA graph");
            Ok(())
        })?;
        let columns = ["syncType", "deprecatedSyncType", "eventId"];
        rows.each_both(SYNCHRONIZATION, COMMON, columns, |rows, common, [kind, old_kind, event]| {
            let [start, end, pid, device, context, stream, correlation, _] = common;
            let (start, end) = interval(start, end, &TIMES)?;
            let pid = numbers.process(pid)?;
            let stream = match stream.int() {
                None | Some(NONE | -1) => StreamId::NONE,
                Some(_) => rows.stream(&numbers, pid, [device, context, stream]),
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
