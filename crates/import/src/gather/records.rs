//! Reads records that need no others.

use super::state::Process;
use crate::overhead;
use spool::{
    ApiCall, Device, Driver, Dropped, Home, Note, Overhead, Plain, Program, Range, Record, SETTINGS, Setting,
    ThreadName,
};
use trace::{Api, Call, RangeKind, StreamId, ThreadId, ThreadRole};

impl Process<'_, '_> {
    /// Reads a record of the thread `tid`; `None` where it is too short for its kind.
    pub(super) fn plain(&mut self, kind: Plain, tid: u32, record: &Record<'_>) -> Option<()> {
        let (body, tag) = (record.body, record.head.tag);
        match kind {
            Plain::ApiCall => {
                self.cupti.insert(tid);
                self.later.has_calls = true;
                let call = ApiCall::read(body)?;
                // Before all driver calls: if both have the same correlation id, the join takes the first.
                if call.runtime != 0 {
                    self.api_call(tag, call);
                }
            }
            Plain::Overhead => self.overhead(tag, Overhead::read(body)?),
            Plain::Range => self.range(tid, tag, Range::read(body)?),
            Plain::ThreadName => self.thread_name(tag, ThreadName::read(body)?),
            Plain::Device => self.device(tag, Device::read(body)?),
            Plain::Dropped => {
                let Dropped { count } = Dropped::read(body)?;
                let lost = &mut self.all.trace.meta.lost;
                lost.records("dropped by CUPTI or unreadable in its buffers", count);
            }
            Plain::Note => {
                let Note { at } = Note::read(body)?;
                self.remarks.push((at, tag));
            }
            Plain::Driver => self.driver(tag, Driver::read(body)?),
            Plain::Program => self.program(tag, Program::read(body)?),
            Plain::Setting => self.setting(tag, Setting::read(body)?),
        }
        Some(())
    }

    /// Adds a call that CUPTI recorded.
    pub(super) fn api_call(&mut self, name: u32, call: ApiCall) {
        let ApiCall { start, end, correlation, tid, result, runtime } = call;
        let Some((start, end)) = self.times(start, end) else { return };
        let api = if runtime == 0 { Api::Driver } else { Api::Runtime };
        let thread = self.thread(tid);
        let name = self.texts.function(&mut self.all.trace.strings, api, name);
        let correlation = correlation.into();
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
                trace.threads.role[thread] = ThreadRole::Tracer;
                trace.threads.name[thread] = trace.strings.intern("CUPTI's own");
            }
        }
    }

    pub(super) fn stream(&mut self, device: u32, context: u32, stream: u32) -> StreamId {
        let device = self.gpu(device);
        let (all, number) = (&mut *self.all, self.number);
        all.ids.stream_on(&mut all.trace, number, (device, context.into(), stream.into()))
    }

    fn overhead(&mut self, kind: u32, overhead: Overhead) {
        let Overhead { start, end, tid } = overhead;
        let Some((start, end)) = self.times(start, end) else { return };
        let thread = match self.valid_tid(tid) {
            0 => ThreadId::NONE,
            tid => self.thread(tid),
        };
        if overhead::known_cupti(kind.into()).is_none() {
            self.valid::<()>(None);
        }
        let trace = &mut self.all.trace;
        let (kind, name) = (RangeKind::Overhead, trace.strings.intern(overhead::cupti(kind.into())));
        trace.ranges.push(trace::Range { start, end, thread, kind, name, ..Default::default() });
    }

    fn range(&mut self, tid: u32, name: u32, range: Range) {
        let Range { start, end, domain } = range;
        let Some((start, end)) = self.ticks(start, end) else { return };
        let (thread, name) = (self.thread(tid), self.texts.get(name));
        let domain = self.valid(u32::try_from(domain).ok());
        let (kind, domain) = (RangeKind::User, self.texts.get(domain));
        self.all.trace.ranges.push(trace::Range {
            start,
            end,
            thread,
            kind,
            name,
            domain,
            ..Default::default()
        });
    }

    fn thread_name(&mut self, name: u32, ThreadName { tid }: ThreadName) {
        let tid = self.valid_tid(tid);
        if tid == 0 {
            return;
        }
        let thread = self.thread(tid);
        // The name that the program gave by NVTX is better than the kernel's, from the file beside.
        let is_beside = self.file == Home::Beside;
        if is_beside && self.named.contains(&tid) {
            return;
        }
        if !is_beside {
            self.named.insert(tid);
        }
        self.all.trace.threads.name[thread] = self.texts.get(name);
    }

    fn device(&mut self, name: u32, device: Device) {
        let Device { ordinal, compute_major, compute_minor, multiprocessors, copy_engines, zero: _, memory } =
            device;
        let row = self.gpu(ordinal).index();
        let memory = self.valid(i64::try_from(memory).ok());
        let devices = &mut self.all.trace.devices;
        devices.name[row] = self.texts.get(name);
        (devices.compute_major[row], devices.compute_minor[row]) = (compute_major, compute_minor);
        (devices.multiprocessors[row], devices.copy_engines[row]) = (multiprocessors, copy_engines);
        devices.memory_bytes[row] = memory;
    }

    /// Adds what the file remarks, in the order of time: its threads have chunks of their own.
    pub(super) fn add_remarks(&mut self) {
        let mut remarks = std::mem::take(&mut self.remarks);
        remarks.sort_by_key(|(at, _)| *at);
        for (_, text) in remarks {
            let text = self.all.trace.text(self.texts.get(text)).to_owned();
            self.note(text);
        }
    }

    fn driver(&mut self, version: u32, Driver { cupti }: Driver) {
        let meta = &mut self.all.trace.meta;
        meta.driver = format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
        if cupti > 0 {
            meta.source_version = format!("CUPTI API {cupti}");
        }
    }

    fn program(&mut self, path: u32, Program { command }: Program) {
        let command = self.valid(u32::try_from(command).ok());
        let trace = &mut self.all.trace;
        let path = trace.text(self.texts.get(path)).to_owned();
        let name = trace.strings.intern(path.rsplit('/').next().unwrap_or(&path));
        trace.processes.name[self.row] = name;
        if trace.meta.command.is_empty() {
            trace.meta.command = trace.text(self.texts.get(command)).to_owned();
        }
    }

    fn setting(&mut self, value: u32, Setting { name }: Setting) {
        let name = usize::try_from(name).ok().and_then(|name| SETTINGS.get(name));
        let value = self.texts.get(value);
        let name = self.valid(name.copied());
        // A name that this holdup does not know is none.
        if !name.is_empty() {
            self.settings.push((name, value));
        }
    }

    /// Adds the variables that the process had set.
    pub(super) fn add_settings(&mut self) {
        let settings = std::mem::take(&mut self.settings);
        if settings.is_empty() {
            return;
        }
        let trace = &mut self.all.trace;
        let text = trace::settings_text(settings.iter().map(|(name, value)| (*name, trace.text(*value))));
        trace.processes.settings[self.row] = trace.strings.intern(&text);
    }
}
