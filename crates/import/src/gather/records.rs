//! Reads records that need no others.

use super::Process;
use crate::overhead;
use spool::{ApiCall, Device, Driver, Dropped, Note, Overhead, Program, Range, Record, ThreadName};
use trace::{Api, Call, RangeKind, StreamId, ThreadId, ThreadRole};

impl Process<'_, '_> {
    /// Reads a record of the thread `tid` that is no operation.
    pub(super) fn record(&mut self, tid: u32, record: &Record<'_>) {
        let (body, tag) = (record.body, record.head.tag);
        let read = match record.head.kind {
            ApiCall::KIND => {
                self.cupti.insert(tid);
                self.later.has_calls = true;
                ApiCall::read(body).map(|call| self.runtime_call(tag, &call))
            }
            Overhead::KIND => Overhead::read(body).map(|overhead| self.overhead(tag, &overhead)),
            Range::KIND => Range::read(body).map(|range| self.range(tid, tag, &range)),
            ThreadName::KIND => ThreadName::read(body).map(|thread| self.thread_name(tag, thread.tid)),
            Device::KIND => Device::read(body).map(|device| self.device(tag, &device)),
            Dropped::KIND => Dropped::read(body).map(|dropped| {
                self.all
                    .trace
                    .meta
                    .lost
                    .records("dropped by CUPTI or unreadable in its buffers", dropped.count);
            }),
            Note::KIND => Note::read(body).map(|_| self.remark(tag)),
            Driver::KIND => Driver::read(body).map(|driver| self.driver(tag, driver.cupti)),
            Program::KIND => Program::read(body).map(|program| self.program(tag, program.command)),
            _ => self.later(tid, record),
        };
        if read.is_none() {
            self.all.trace.meta.lost.record("truncated record");
        }
    }

    /// Adds a runtime call, before all driver calls: if both have the same correlation id, the join takes the first.
    fn runtime_call(&mut self, name: u32, call: &ApiCall) {
        if call.runtime != 0 {
            self.api_call(Api::Runtime, name, call);
        }
    }

    pub(super) fn api_call(&mut self, api: Api, name: u32, call: &ApiCall) {
        let Some((start, end)) = self.times(call.start, call.end) else { return };
        let thread = self.thread(call.tid);
        let name = self.texts.function(&mut self.all.trace.strings, api, name);
        let (correlation, result) = (call.correlation.into(), call.result);
        self.all.trace.calls.push(Call {
            start,
            end,
            thread,
            api,
            name,
            correlation,
            result,
            ..Call::default()
        });
    }

    /// Marks threads that wrote only CUPTI's records as the tracer's.
    pub(super) fn tracers(&mut self) {
        for tid in std::mem::take(&mut self.cupti) {
            let thread = self.thread(tid);
            let trace = &mut self.all.trace;
            if !trace.calls.thread[self.first_call..].contains(&thread) {
                trace.threads.role[thread.index()] = ThreadRole::Tracer;
                trace.threads.name[thread.index()] = trace.strings.intern("CUPTI's own");
            }
        }
    }

    pub(super) fn stream(&mut self, device: u32, context: u32, stream: u32) -> StreamId {
        let device = self.gpu(device);
        let (all, number) = (&mut *self.all, self.number);
        all.ids.stream_on(&mut all.trace, number, (device, context.into(), stream.into()))
    }

    fn overhead(&mut self, kind: u32, overhead: &Overhead) {
        let Some((start, end)) = self.times(overhead.start, overhead.end) else { return };
        let thread = match u32::try_from(overhead.tid) {
            Ok(tid @ 1..) => self.thread(tid),
            _ => ThreadId::NONE,
        };
        let trace = &mut self.all.trace;
        let name = trace.strings.intern(overhead::cupti(kind.into()));
        trace.ranges.push(trace::Range {
            start,
            end,
            thread,
            kind: RangeKind::Overhead,
            name,
            ..Default::default()
        });
    }

    fn range(&mut self, tid: u32, name: u32, range: &Range) {
        let Some((start, end)) = self.ticks(range.start, range.end) else { return };
        let (thread, name) = (self.thread(tid), self.texts.get(name));
        let row = trace::Range { start, end, thread, kind: RangeKind::User, name, ..Default::default() };
        self.all.trace.ranges.push(row);
    }

    fn thread_name(&mut self, name: u32, tid: u64) {
        let Ok(tid) = u32::try_from(tid) else { return };
        let thread = self.thread(tid);
        // The name that the program gave by NVTX is better than the kernel's, from the file beside.
        if self.is_beside && self.named.contains(&tid) {
            return;
        }
        if !self.is_beside {
            self.named.insert(tid);
        }
        self.all.trace.threads.name[thread.index()] = self.texts.get(name);
    }

    fn device(&mut self, name: u32, device: &Device) {
        let row = self.gpu(device.ordinal).index();
        let devices = &mut self.all.trace.devices;
        devices.name[row] = self.texts.get(name);
        (devices.compute_major[row], devices.compute_minor[row]) =
            (device.compute_major, device.compute_minor);
        (devices.multiprocessors[row], devices.copy_engines[row]) =
            (device.multiprocessors, device.copy_engines);
        devices.memory_bytes[row] = i64::try_from(device.memory).unwrap_or(0);
    }

    fn remark(&mut self, text: u32) {
        let text = self.all.trace.text(self.texts.get(text)).to_owned();
        self.note(text);
    }

    fn driver(&mut self, version: u32, cupti: u64) {
        let meta = &mut self.all.trace.meta;
        meta.driver = format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
        if cupti > 0 {
            meta.source_version = format!("CUPTI API {cupti}");
        }
    }

    fn program(&mut self, path: u32, command: u64) {
        let trace = &mut self.all.trace;
        let path = trace.text(self.texts.get(path)).to_owned();
        let name = trace.strings.intern(path.rsplit('/').next().unwrap_or(&path));
        trace.processes.name[self.row.index()] = name;
        if trace.meta.command.is_empty() {
            let command = self.texts.get(u32::try_from(command).unwrap_or(0));
            trace.meta.command = trace.text(command).to_owned();
        }
    }
}
