//! GPU operations (copies, fills, kernels) and synchronizations.

use super::times::times;
use crate::sqlite::{Builder, Fault, Schema, Value};
use crate::{Problem, cupti};
use rustc_hash::FxHashMap;
use trace::{CopyKind, MemoryKind, Ns, ProcessId, StreamId, Sync};

pub(super) const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
/// Copies between devices.
pub(super) const MEMCPY2: &str = "CUPTI_ACTIVITY_KIND_MEMCPY2";
pub(super) const MEMSET: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
pub(super) const KERNELS: [&str; 2] = ["CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL"];
pub(super) const SYNCHRONIZATION: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
pub(super) const CONTEXT: &str = "CUPTI_ACTIVITY_KIND_CONTEXT";

/// Meaning of the numbers in GPU records, which are CUPTI's. No record names its process: it is the only one.
struct Numbers {
    pid: Option<i64>,
}

impl Schema for Numbers {
    const COPIES: &'static [&'static str] = &[MEMCPY, MEMCPY2];
    const FILLS: &'static str = MEMSET;
    const FILLED: &'static str = "memoryKind";
    const KERNELS: &'static [&'static str] = &KERNELS;
    const KERNEL_NAMES: [&'static str; 2] = ["name", "name"];

    fn times(&self, start: Value, end: Value) -> Result<(Ns, Ns), Fault> {
        times(start, end)
    }

    fn copy(&self, kind: Value) -> CopyKind {
        cupti::copy(number(kind))
    }

    fn memory(&self, kind: Value) -> MemoryKind {
        cupti::memory(number(kind))
    }

    fn ordinal(&self, _: i64, device: i64) -> i64 {
        device
    }

    fn process(&self, _: Value) -> Result<i64, Fault> {
        Ok(self.pid.ok_or("names no process in a trace of several")?)
    }
}

pub(super) fn read(rows: &mut Builder<'_>) -> Result<(), Problem> {
    let pid = rows.only_process();
    rows.ops(&Numbers { pid })?;
    let device_of = devices(rows)?;
    let columns = ["start", "end", "type", "contextId", "streamId", "cudaEventId", "correlationId"];
    rows.each(SYNCHRONIZATION, columns, |rows, [start, end, kind, context, stream, event, correlation]| {
        let Builder { ids, trace, .. } = rows;
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
            correlation: number(correlation),
            ..Sync::default()
        });
        Ok(())
    })
}

/// The device of each context: synchronizations name only the context. Operations know better than the table of contexts.
fn devices(rows: &Builder<'_>) -> Result<FxHashMap<i64, i64>, Problem> {
    let mut devices = FxHashMap::default();
    let read = |[context, device]: [Value; 2]| {
        devices.extend(context.int().zip(device.int()));
        Ok(())
    };
    rows.source.scan(CONTEXT, ["contextId", "deviceId"], read)?.ignore();
    let contexts = &rows.trace.contexts;
    let ordinal = |device: &trace::DeviceId| rows.trace.devices.ordinal[*device];
    devices.extend(contexts.number.iter().copied().zip(contexts.device.iter().map(ordinal)));
    Ok(devices)
}

/// A 32-bit id; `None` for the value that means "none", with either sign.
fn id(value: Value) -> Option<i64> {
    value.int().filter(|&id| id != 0xffff_ffff && id != -1)
}

fn number(value: Value) -> i64 {
    value.int().unwrap_or(0)
}
