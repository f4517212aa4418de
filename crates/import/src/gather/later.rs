//! Records that need other records to be understood: driver calls need CUPTI's record of the same call, waits and
//! stacks need the calls they happened in, synchronizations need contexts.

use super::Process;
use super::issue::Numbers;
use super::order::{Issue, Joined};
use super::tallies::Tallies;
use super::thread_waits::ThreadWaits;
use super::wrapped::Wrapped;
use crate::cupti;
use rustc_hash::{FxHashMap, FxHashSet};
use spool::{
    ApiCall, CallTally, Made, Module, PythonFrame, Record, Stack, StreamNumber, Sync, ThreadEnd, Wait,
};
use trace::{Api, CallId, Ns, StreamId};

/// Records that are kept until the rest of their process is read.
#[derive(Default)]
pub(super) struct Later {
    /// The thread that waited, the text number of the library whose code waited, and the wait.
    pub waits: Vec<(u32, u32, Wait)>,
    pub stacks: Vec<Stacked>,
    pub thread_waits: ThreadWaits,
    pub tallies: Tallies,
    pub syncs: Vec<(u32, Sync)>,
    /// The end of CUPTI's last record of a driver call, by thread.
    pub recorded_until: FxHashMap<u32, Ns>,
    /// How many calls the process's file has.
    pub driver_calls: u64,
    /// The threads whose first chunk was read, where chunks were overwritten.
    pub first_chunks: FxHashSet<u32>,
    /// Calls that began in chunks that were overwritten.
    pub begun_before: u64,
    /// Whether CUPTI recorded calls.
    pub has_calls: bool,
    /// Whether operations are joined with calls by order.
    pub is_joined: bool,
    /// Whether holdup gave CUPTI up while the process ran. Until then CUPTI told the id of each call that issued work.
    pub gave_up: bool,
    pub wrapped: Wrapped,
    /// Streams' numbers: the thread that wrote them, CUPTI's number, and the record.
    stream_numbers: Vec<(u32, u32, StreamNumber)>,
    pub numbers: Numbers,
    /// The calls that issued work.
    pub issues: Vec<Issue>,
    /// Calls that issued work where order does not decide which.
    pub unordered: u64,
    /// Kernel launches of which CUPTI told the id, where no operation at all was written.
    pub unwritten: u64,
    pub joined: Joined,
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
                let Stack { start, end, last, .. } = Stack::read(body)?;
                self.later.tallies.stack(tid, &self.clocks, last);
                let (start, end) = (self.clocks.ns(start), self.clocks.ns(end));
                let (native, python) = record.frames()?;
                self.later.stacks.push(Stacked { tid, start, end, native, python });
            }
            StreamNumber::KIND => {
                let number = StreamNumber::read(body)?;
                let tid = if number.tid == 0 { tid } else { number.tid };
                self.later.stream_numbers.push((tid, tag, number));
            }
            CallTally::KIND | spool::Tally::KIND => return self.of_tally(record),
            ThreadEnd::KIND => self.endings.ends.push(ThreadEnd::read(body)?),
            30..=39 => return self.of_thread_wait(tid, record),
            // Texts and clocks are already read; driver calls are read later.
            _ => self.watched(record)?,
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
    pub(super) fn driver_call(&mut self, record: &Record<'_>) {
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

    /// Learns the streams of handles, now that the devices of contexts are known. A context without a device has no
    /// operations either.
    pub(super) fn number_streams(&mut self) {
        for (tid, number, record) in std::mem::take(&mut self.later.stream_numbers) {
            if let Some(device) = self.device_of.get(&record.context).copied() {
                let stream = self.stream(device, record.context, number);
                self.later.numbers.add(tid, record.stream, self.clocks.ns(record.at), stream);
            }
        }
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
