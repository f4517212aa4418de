//! Calls that wrappers recorded: a call of the runtime and the driver's call within it are one row.

use super::Process;
use super::order::{Issue, Work};
use crate::{cupti, suffix};
use rustc_hash::FxHashMap;
use spool::{Chunk, Clock, call};
use trace::{Api, Argument, CallId, CopyKind, MemoryKind, Ns, StreamId, SyncKind};

/// What the name of a function says.
#[derive(Clone, Copy)]
pub(super) struct Function {
    pub(super) api: Api,
    /// The work that its calls issue to a GPU.
    pub work: Work,
    /// What its calls wait for.
    waits: SyncKind,
    records_event: bool,
    /// Where its calls name no stream, it is the thread's own default one.
    own_default: bool,
}

/// A call of a chunk.
#[derive(Clone, Copy)]
struct Made {
    /// Text number of its function's name.
    name: u32,
    /// Its times, and the facts of the driver's call that it is or contains.
    call: spool::Call,
    /// Text number of the driver's function that issued work, and the call of it.
    issued: Option<(u32, spool::Call)>,
}

/// What calls need of those before them.
#[derive(Default)]
pub(super) struct Wrapped {
    functions: FxHashMap<u32, Function>,
    /// The stream in which each event was last recorded: when, and the handle.
    events: FxHashMap<u32, (Ns, u64)>,
    /// Streams by handle at level light, numbered as they appear; the default stream is 0.
    handles: FxHashMap<u64, i64>,
}

impl Process<'_, '_> {
    /// Reads the calls of a chunk.
    pub(super) fn wrapped_calls(&mut self, chunk: &Chunk<'_>) {
        self.begun_before(chunk);
        for made in self.merged(chunk) {
            self.wrapped_call(chunk.tid(), &made);
        }
    }

    /// Counts the calls that a thread began before the first of its chunks that is left: they are in no count of calls begun.
    fn begun_before(&mut self, chunk: &Chunk<'_>) {
        if self.complete_from.is_none() || chunk.is_lasting() || !self.later.first_chunks.insert(chunk.tid())
        {
            return;
        }
        let first = chunk.records().flatten().next();
        let began =
            first.filter(|record| record.head.kind == Clock::KIND).and_then(|clock| Clock::read(clock.body));
        if let Some(began) = began {
            self.later.begun_before +=
                chunk.calls_made().filter(|(_, call)| call.start < began.ticks).count() as u64;
        }
    }

    /// The calls of a chunk in the order they returned. A call of the runtime takes the facts of the only call within it
    /// that issued work, or of the only call at all, which is left out.
    fn merged(&mut self, chunk: &Chunk<'_>) -> Vec<Made> {
        let mut all: Vec<Made> = Vec::new();
        for (name, call) in chunk.calls_made() {
            self.later.driver_calls += 1;
            let function = self.function(name);
            let mut made = Made { name, call, issued: (function.work != Work::None).then_some((name, call)) };
            if function.api == Api::Runtime {
                let within = all.iter().rev().take_while(|inner| inner.call.start >= call.start).count();
                let inner = all.len() - within;
                if let Some(own) = self.only(&all[inner..]) {
                    let of_driver = all.remove(inner + own);
                    // Both were counted as begun.
                    self.later.driver_calls += 1;
                    made.issued = of_driver.issued;
                    made.call = spool::Call {
                        start: call.start,
                        end: call.end,
                        result: call.result,
                        ..of_driver.call
                    };
                }
            }
            all.push(made);
        }
        all
    }

    /// Which of the calls within a call of the runtime is the driver's side of it.
    fn only(&self, within: &[Made]) -> Option<usize> {
        let mut issuing = (0..within.len()).filter(|at| within[*at].issued.is_some());
        match (within.len(), issuing.next(), issuing.next()) {
            (1, None, _) => Some(0),
            (_, first, None) => first,
            _ => None,
        }
    }

    pub(super) fn function(&mut self, name: u32) -> Function {
        if let Some(known) = self.later.wrapped.functions.get(&name) {
            return *known;
        }
        let function = Function::of(self.all.trace.text(self.texts.get(name)));
        self.later.wrapped.functions.insert(name, function);
        function
    }

    /// Adds a call, unless CUPTI recorded it as well: when holdup gives up CUPTI in the middle of a recording, the calls in
    /// progress have both records.
    fn wrapped_call(&mut self, tid: u32, made: &Made) {
        let (begun, ended) = (self.clocks.ns(made.call.start), self.clocks.ns(made.call.end));
        let covered = self.later.recorded_until.get(&tid).is_some_and(|until| begun < *until);
        let Some((start, end)) = self.times(begun, ended).filter(|_| !covered) else { return };
        let thread = self.thread(tid);
        let function = self.function(made.name);
        let name = self.texts.function(&mut self.all.trace.strings, function.api, made.name);
        let row = trace::Call {
            start,
            end,
            thread,
            api: function.api,
            name,
            result: made.call.result,
            ..Default::default()
        };
        let id = self.all.trace.calls.push(row);
        if !self.later.is_joined {
            return self.argument(id, &made.call);
        }
        if let Some((name, call)) = made.issued {
            self.issue(tid, id, name, &call);
        }
        self.waited_for(tid, id, (start, end), made);
    }

    /// Keeps what a call of the driver issued; the call's row may be that of the runtime's call around it.
    fn issue(&mut self, tid: u32, id: CallId, name: u32, call: &spool::Call) {
        let (work, handle) = self.work(name, call);
        if work == Work::None {
            return;
        }
        let (start, end) = (self.clocks.ns(call.start), self.clocks.ns(call.end));
        let is_told = call.correlation != 0 && call.flags & call::CHECKED == 0;
        let Some(until) = self.joins_until(start).or(is_told.then_some(Ns::MAX)) else {
            self.later.unordered += u64::from(work != Work::None);
            return;
        };
        let stream = handle.map(|handle| self.later.numbers.stream(tid, handle, start));
        let issue = Issue {
            call: id,
            tid,
            start,
            end,
            until,
            stream,
            work,
            bytes: call.bytes,
            fact: call.fact,
            can: call.result == 0 && call.flags & call::CAPTURED == 0,
            correlation: call.correlation,
            is_checked: call.flags & call::CHECKED != 0,
        };
        self.later.issues.push(issue);
    }

    /// What a call issues, and the handle of its stream.
    fn work(&mut self, name: u32, call: &spool::Call) -> (Work, Option<u64>) {
        let function = self.function(name);
        let handle = match call.flags & call::HAS_STREAM {
            0 if function.work == Work::Unknown => None,
            0 => Some(if function.own_default { OWN_STREAM } else { 0 }),
            _ => Some(call.stream),
        };
        (function.work, handle)
    }

    /// Adds the synchronization that a call is.
    fn waited_for(&mut self, tid: u32, call: CallId, (start, end): (Ns, Ns), made: &Made) {
        let function = self.function(made.name);
        let fact = made.call.fact;
        if function.records_event && made.call.result == 0 {
            self.later.wrapped.events.insert(fact, (start, made.call.stream));
        }
        if function.waits == SyncKind::Unknown {
            return;
        }
        let recorded = self.later.wrapped.events.get(&fact).filter(|_| fact != 0).copied();
        let (handle, event) = match function.waits {
            SyncKind::Event => (recorded.map(|(_, handle)| handle), fact),
            SyncKind::StreamWaitEvent => (Some(made.call.stream), fact),
            SyncKind::Stream => (Some(made.call.stream), 0),
            SyncKind::Context | SyncKind::Unknown => (None, 0),
        };
        let stream = handle.map_or(StreamId::NONE, |handle| self.later.numbers.stream(tid, handle, start));
        let (kind, process, event) = (function.waits, self.row, event.into());
        self.all.trace.syncs.push(trace::Sync {
            start,
            end,
            kind,
            process,
            stream,
            event,
            correlation: 0,
            call,
        });
    }

    /// Adds what a call's arguments say, where no record of the GPU says it.
    pub(super) fn argument(&mut self, id: CallId, record: &spool::Call) {
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
        let streams = &mut self.later.wrapped.handles;
        let next = 1 + streams.len() as i64;
        let number = if handle == 0 { 0 } else { *streams.entry(handle).or_insert(next) };
        let all = &mut *self.all;
        all.ids.stream_anywhere(&mut all.trace, self.number, number)
    }
}

/// The handle of a thread's own default stream (cuda.h).
const OWN_STREAM: u64 = 2;

impl Function {
    /// By its name as the wrapper knows it.
    fn of(name: &str) -> Function {
        let own_default = name.ends_with("_ptsz") || name.ends_with("_ptds");
        let api = if name.starts_with("cuda") { Api::Runtime } else { Api::Driver };
        let bare = suffix::bare(name);
        let rest = bare.strip_prefix(if api == Api::Runtime { "cuda" } else { "cu" }).unwrap_or(bare);
        let waits = match rest {
            "StreamSynchronize" => SyncKind::Stream,
            "EventSynchronize" => SyncKind::Event,
            "StreamWaitEvent" => SyncKind::StreamWaitEvent,
            "CtxSynchronize" | "DeviceSynchronize" => SyncKind::Context,
            _ => SyncKind::Unknown,
        };
        let work = if api == Api::Driver { Work::of(rest) } else { Work::None };
        let records_event = rest.starts_with("EventRecord");
        Function { api, work, waits, records_event, own_default }
    }
}
