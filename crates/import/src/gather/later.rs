//! Records that need other records to be understood: driver calls need CUPTI's record of the same call, waits and
//! stacks need the calls they happened in, synchronizations need contexts.

use super::Process;
use crate::cupti;
use rustc_hash::FxHashMap;
use spool::{ApiCall, Made, Module, PythonFrame, Record, Stack, Sync, Wait, call};
use trace::{Api, Argument, CallId, CopyKind, MemoryKind, Ns, StreamId};

/// Records that are kept until the rest of their process is read.
#[derive(Default)]
pub(super) struct Later {
    /// The thread that waited, the text number of the library whose code waited, and the wait.
    pub waits: Vec<(u32, u32, Wait)>,
    pub stacks: Vec<Stacked>,
    pub syncs: Vec<(u32, Sync)>,
    /// The end of CUPTI's last record of a driver call, by thread.
    recorded_until: FxHashMap<u32, Ns>,
    /// Streams by handle, numbered as they appear; the default stream is 0.
    streams: FxHashMap<u64, i64>,
    /// Number of driver calls in the table of calls.
    pub driver_calls: u64,
}

/// The stack of a slow call.
pub(super) struct Stacked {
    pub tid: u32,
    pub start: Ns,
    pub end: Ns,
    pub native: Vec<u64>,
    pub python: Vec<PythonFrame>,
}

impl Process<'_, '_> {
    /// Keeps a record for later; `None` where it is too short for its kind.
    pub(super) fn later(&mut self, tid: u32, record: &Record<'_>) -> Option<()> {
        let (body, tag) = (record.body, record.head.tag);
        match record.head.kind {
            Wait::KIND => {
                let wait = self.in_ns(&Wait::read(body)?);
                self.later.waits.push((tid, tag, wait));
            }
            Sync::KIND => self.later.syncs.push((tag, Sync::read(body)?)),
            Module::KIND => {
                let module = Module::read(body)?;
                self.all.places.module(self.texts.get(tag), &module);
            }
            Made::KIND => {
                let bytes = body.get(size_of::<Made>()..)?;
                self.all.places.made(&Made::read(body)?, bytes);
            }
            Stack::KIND => {
                let Stack { start, end, .. } = Stack::read(body)?;
                let (start, end) = (self.clocks.ns(start), self.clocks.ns(end));
                let (native, python) = record.frames()?;
                self.later.stacks.push(Stacked { tid, start, end, native, python });
            }
            // Texts and clocks are already read; driver calls are read later; other kinds are of a later version.
            _ => {}
        }
        Some(())
    }

    /// The wait with its times in nanoseconds.
    fn in_ns(&self, wait: &Wait) -> Wait {
        let ns = |ticks| self.clocks.ns(ticks);
        Wait {
            start: ns(wait.start),
            end: ns(wait.end),
            since: ns(wait.since),
            holder_since: ns(wait.holder_since),
            releaser_since: ns(wait.releaser_since),
            ..*wait
        }
    }

    /// Reads a driver call that CUPTI recorded.
    pub(super) fn driver_call(&mut self, _: u32, record: &Record<'_>) {
        let Some(call) = ApiCall::read(record.body).filter(|_| record.head.kind == ApiCall::KIND) else {
            return;
        };
        if call.runtime == 0 {
            self.api_call(Api::Driver, record.head.tag, &call);
            self.later.driver_calls += 1;
            let until = self.later.recorded_until.entry(call.tid).or_default();
            *until = (*until).max(call.end);
        }
    }

    /// Reads a driver call that its wrapper recorded, unless CUPTI recorded it as well: when holdup gives up CUPTI in
    /// the middle of a recording, the calls in progress have both records.
    pub(super) fn wrapped_call(&mut self, tid: u32, name: u32, call: &spool::Call) {
        let (begun, ended) = (self.clocks.ns(call.start), self.clocks.ns(call.end));
        let covered = self.later.recorded_until.get(&tid).is_some_and(|until| begun < *until);
        let Some((start, end)) = self.times(begun, ended).filter(|_| !covered) else { return };
        self.later.driver_calls += 1;
        let thread = self.thread(tid);
        let name = self.texts.function(&mut self.all.trace.strings, Api::Driver, name);
        let row = trace::Call {
            start,
            end,
            thread,
            api: Api::Driver,
            name,
            result: call.result,
            ..Default::default()
        };
        let id = self.all.trace.calls.push(row);
        self.argument(id, call);
    }

    fn argument(&mut self, id: CallId, record: &spool::Call) {
        let kind = |shift: u32| cupti::memory((record.flags >> shift & 0xff).into());
        let argument = Argument {
            call: id,
            bytes: i64::try_from(record.bytes).unwrap_or(i64::MAX),
            copy: cupti::copy((record.flags & call::DIRECTION).into()),
            src: kind(call::SOURCE_SHIFT),
            dst: kind(call::TARGET_SHIFT),
            stream: self.stream_of_handle(record),
            ..Argument::default()
        };
        let silent = argument.copy == CopyKind::Unknown
            && (argument.src, argument.dst) == (MemoryKind::Unknown, MemoryKind::Unknown)
            && argument.stream.is_none()
            && argument.bytes == 0;
        if !silent {
            self.all.trace.arguments.push(argument);
        }
    }

    /// The stream that a call names by its handle. Its context is unknown.
    fn stream_of_handle(&mut self, record: &spool::Call) -> StreamId {
        if record.flags & call::HAS_STREAM == 0 {
            return StreamId::NONE;
        }
        // Handles 0 and 1 are the default stream: the usual one and the explicit legacy one (cuda.h).
        let handle = if record.stream == 1 { 0 } else { record.stream };
        let streams = &mut self.later.streams;
        let next = 1 + streams.len() as i64;
        let number = if handle == 0 { 0 } else { *streams.entry(handle).or_insert(next) };
        let all = &mut *self.all;
        all.ids.stream_anywhere(&mut all.trace, self.number, number)
    }

    /// Adds the synchronizations, now that the devices of contexts are known.
    pub(super) fn syncs(&mut self) {
        const NONE: u32 = u32::MAX;
        for (kind, sync) in std::mem::take(&mut self.later.syncs) {
            let Some((start, end)) = self.times(sync.start, sync.end) else { continue };
            let device = self.device_of.get(&sync.context).copied();
            let stream = match device.filter(|_| sync.stream != NONE) {
                Some(device) => self.stream(device, sync.context, sync.stream),
                None => StreamId::NONE,
            };
            self.all.trace.syncs.push(trace::Sync {
                start,
                end,
                kind: cupti::sync(kind.into()),
                process: self.row,
                stream,
                event: if sync.event == NONE { 0 } else { sync.event.into() },
                correlation: sync.correlation.into(),
                call: CallId::NONE,
            });
        }
    }
}
