//! The Trace of the host's calls, which threads record.

use super::messages::Messages;
use super::partial::Partial;
use crate::driver::Function;
use crate::version::driver_version;
use crate::wire::{Note, Record};
use crate::{Device, clock};
use std::collections::BTreeMap;
use trace::{Api, Argument, Call, Meta, StreamId, Sym, ThreadId, Trace};
use workload::Workload;

/// A thread whose calls were recorded.
struct Caller<'a> {
    row: ThreadId,
    notes: &'a [Note],
    /// The streams of its process.
    streams: std::ops::Range<usize>,
}

/// The Trace of a run.
pub fn host_trace(
    workload: &Workload,
    heard: &[Messages],
    devices: &[Device],
    partial: Option<Partial>,
) -> Trace {
    let mut trace = Trace { meta: meta(workload, heard, partial), ..Trace::default() };
    let rows = devices.iter().map(|device| (device.ordinal, push_device(&mut trace, device)));
    let device_rows: BTreeMap<_, _> = rows.collect();
    let variables = workload.variables();
    let set = variables.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    let settings = trace.strings.intern(&trace::settings_text(set));
    let (mut callers, mut calls) = (Vec::new(), Vec::new());
    for (process, heard) in workload.processes.iter().zip(heard) {
        let name = trace.strings.intern(&process.name);
        let pid = heard.pid.into();
        let row = trace.processes.push(trace::Process { pid, name, settings, ..trace::Process::default() });
        let mut contexts = Vec::new();
        for (context, number) in process.contexts.iter().zip(1..) {
            let device = device_rows.get(&context.device).copied().unwrap_or(trace::DeviceId::NONE);
            contexts.push(trace.contexts.push(trace::Context { process: row, device, number }));
        }
        let first = trace.streams.len();
        for (stream, number) in process.streams.iter().zip(1..) {
            trace.streams.push(trace::Stream { context: contexts[stream.context.index()], number });
        }
        let reports = heard.report.iter().flat_map(|report| &report.threads);
        for (at, (thread, report)) in process.threads.iter().zip(reports).enumerate() {
            let name = trace.strings.intern(&thread.name);
            let role = trace::ThreadRole::Unknown;
            let row = trace.threads.push(trace::Thread { process: row, tid: report.tid, name, role });
            let pieces = heard.calls.iter().filter(|(thread, _)| *thread == at);
            calls.extend(pieces.flat_map(|(_, calls)| calls).map(|call| (*call, callers.len())));
            callers.push(Caller { row, notes: &report.notes, streams: first..trace.streams.len() });
        }
    }
    calls.sort_by_key(|(call, caller)| (call.start, *caller));
    let names: Vec<_> = Function::ALL.iter().map(|function| trace.strings.intern(function.name())).collect();
    calls.into_iter().for_each(|(call, caller)| push_call(&mut trace, &names, call, &callers[caller]));
    trace.rebase();
    trace
}

fn push_call(trace: &mut Trace, names: &[Sym], record: Record, caller: &Caller<'_>) {
    let Some(note) = caller.notes.get(record.note as usize) else { return };
    let Some(name) = note.function.and_then(|function| names.get(usize::from(function))) else { return };
    let Record { start, end, result, .. } = record;
    let (thread, api, name) = (caller.row, Api::Driver, *name);
    let call = trace.calls.push(Call { start, end, thread, api, name, result, ..Call::default() });
    let stream = note.stream.map_or(StreamId::NONE, |row| StreamId::new(caller.streams.start + row as usize));
    if stream.is_none() && note.memory.is_none() {
        return;
    }
    let (src, dst) = note.memories().unwrap_or_default();
    let (bytes, copy) = (note.bytes as i64, note.copy());
    trace.arguments.push(Argument { call, bytes, copy, src, dst, stream, ..Argument::default() });
}

fn push_device(trace: &mut Trace, device: &Device) -> trace::DeviceId {
    let name = trace.strings.intern(&device.name);
    let uuid = trace.strings.intern(device.uuid.trim_start_matches("GPU-"));
    trace.devices.push(trace::Device {
        ordinal: device.ordinal.into(),
        name,
        compute_major: device.compute.0,
        compute_minor: device.compute.1,
        multiprocessors: device.multiprocessors,
        copy_engines: device.copy_engines,
        memory_bytes: device.memory_bytes as i64,
        uuid,
    })
}

fn meta(workload: &Workload, heard: &[Messages], partial: Option<Partial>) -> Meta {
    let cuda = heard.iter().find_map(|heard| heard.report.as_ref()).map_or(0, |report| report.cuda);
    let mut notes = vec!["the calls of a workload; operations of the GPU are not recorded".to_owned()];
    notes.extend(partial.map(|partial| format!("the run was {partial}")));
    Meta {
        command: format!("workload {}", workload.name),
        driver: driver_version(cuda),
        epoch_unix_ns: Some(clock::epoch_unix()),
        notes,
        ..Meta::default()
    }
}
