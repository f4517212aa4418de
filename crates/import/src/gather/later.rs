//! Records that need other records to be understood: driver calls need CUPTI's record of the same call, waits and
//! stacks need the calls they happened in, synchronizations need contexts.

use super::state::Process;
use super::state::later::CallStack;
use crate::cupti;
use spool::{
    ApiCall, CallTally, Deferred, Kind, Made, Module, Place, Record, Stack, StreamNumber, Sync, Tally,
    ThreadEnd, ThreadWait, Unplaced, Wait,
};
use trace::{CallId, StreamId};

impl Process<'_, '_> {
    /// Keeps a record of the thread `tid`; `None` where it is too short for its kind.
    pub(super) fn keep(&mut self, kind: Deferred, tid: u32, record: &Record<'_>) -> Option<()> {
        let (body, tag) = (record.body, record.head.tag);
        match kind {
            Deferred::Wait => self.later.waits.push((tid, tag, Wait::read(body)?)),
            Deferred::ThreadWait => self.later.thread_waits.wait(tid, tag, ThreadWait::read(body)?),
            Deferred::Place => {
                let Place { number, python } = Place::read(body)?;
                let (native, python) = record.frames_behind(size_of::<Place>(), python)?;
                self.later.thread_waits.place(number, native, python);
            }
            Deferred::Unplaced => self.later.thread_waits.unplaced(Unplaced::read(body)?),
            Deferred::Stack => {
                let Stack { start, end, last, python } = Stack::read(body)?;
                self.later.tallies.stack(tid, &self.clocks, last);
                let (start, end) = (self.clocks.ns(start), self.clocks.ns(end));
                let (native, python) = record.frames_behind(size_of::<Stack>(), python)?;
                self.later.stacks.push(CallStack { tid, start, end, native, python });
            }
            Deferred::Sync => self.later.syncs.push((tag, Sync::read(body)?)),
            Deferred::StreamNumber => {
                let number = StreamNumber::read(body)?;
                self.later.stream_numbers.push((tid, tag, number));
            }
            Deferred::Module => self.all.places.module(self.texts.get(tag), Module::read(body)?),
            Deferred::Made => {
                let (made, bytes) = (Made::read(body)?, body.get(size_of::<Made>()..)?);
                if !self.all.places.made(made, bytes) {
                    let lost = &mut self.all.trace.meta.lost;
                    lost.record("pieces of code made at run time that fit no object");
                }
            }
            Deferred::Tally => self.tally_waits(tag, Tally::read(body)?),
            Deferred::CallTally => self.tally_calls(tag, CallTally::read(body)?),
            Deferred::ThreadEnd => self.thread_end(ThreadEnd::read(body)?),
        }
        Some(())
    }

    /// Reads a driver call that CUPTI recorded.
    pub(super) fn driver_call(&mut self, record: &Record<'_>) {
        // The first look counted one that is too short.
        let call = ApiCall::read(record.body).filter(|_| record.kind() == Some(Kind::ApiCall));
        if let Some(call) = call.filter(|call| call.runtime == 0) {
            self.api_call(record.head.tag, call);
            self.later.driver_calls += 1;
            let until = self.later.recorded_until.entry(call.tid).or_default();
            *until = (*until).max(call.end);
        }
    }

    /// Learns the streams of handles, now that the devices of contexts are known. A context without a device has no
    /// operations either.
    pub(super) fn number_streams(&mut self) {
        for (writer, number, record) in std::mem::take(&mut self.later.stream_numbers) {
            let StreamNumber { stream: handle, at, context, tid } = record;
            if let Some(device) = self.device_of.get(&context).copied() {
                let stream = self.stream(device, context, number);
                let tid = if tid == 0 { writer } else { tid };
                self.later.numbers.add(tid, handle, self.clocks.ns(at), stream);
            }
        }
    }

    /// Adds the synchronizations, now that the devices of contexts are known.
    pub(super) fn syncs(&mut self) {
        const NONE: u32 = u32::MAX;
        for (kind, sync) in std::mem::take(&mut self.later.syncs) {
            let Sync { start, end, correlation, context, stream, event } = sync;
            let Some((start, end)) = self.times(start, end) else { continue };
            let kind = self.valid(cupti::known_sync(kind));
            let device = self.device_of.get(&context).copied();
            let stream = match device.filter(|_| stream != NONE) {
                Some(device) => self.stream(device, context, stream),
                None => StreamId::NONE,
            };
            self.all.trace.syncs.push(trace::Sync {
                start,
                end,
                kind,
                process: self.row,
                stream,
                event: if event == NONE { 0 } else { event.into() },
                correlation: correlation.into(),
                call: CallId::NONE,
            });
        }
    }
}
