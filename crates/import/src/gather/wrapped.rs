//! Calls that wrappers recorded: a call of the runtime and the driver's call within it are one row.

use super::decode::batch;
use super::order::{Issue, Work};
use super::recorded::OrderedCalls;
use super::state::Process;
use super::state::functions::Function;
use super::state::streams::Numbers;
use super::state::texts::Texts;
use super::state::times::Times;
use super::state::unread::UnreadCounts;
use crate::cupti;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use spool::{Chunk, Clock, Clocks, call};
use std::mem::take;
use trace::{
    Api, Argument, Arguments, CallId, Calls, CopyKind, MemoryKind, Ns, StreamId, Strings, Sym, SyncKind,
    ThreadId,
};

/// The handle of a thread's own default stream (cuda.h).
const OWN_STREAM: u64 = 2;

/// A call of a chunk.
#[derive(Clone, Copy)]
struct Made {
    /// Text number of its function's name.
    name: u32,
    function: Function,
    /// The driver's function that issued work, if one did.
    issued: Option<Function>,
    /// Its entry and return, ticks, and its result.
    start: i64,
    end: i64,
    result: i32,
    /// The driver's call that it is or contains.
    driver: spool::Call,
}

/// The calls of a chunk, and what is left to be done for them in the order of all calls.
#[derive(Clone, Default)]
struct Chunked {
    /// How many calls the chunk has, those within others too.
    made_calls: u64,
    made: Vec<Made>,
    calls: Calls,
    /// The number of each call's function in `functions`.
    names: Vec<u32>,
    /// Functions as they appear.
    functions: Vec<(Api, u32)>,
    issues: Vec<Issue>,
    /// Calls that issued work where order does not decide which.
    unordered: u64,
    /// Kernel launches whose operations CUPTI recorded, in a process none of whose operations were written.
    unwritten: u64,
    /// Calls that record events or wait: their places among the calls.
    waits: Vec<(usize, Function, spool::Call)>,
    /// Their calls and streams are numbered as they appear.
    arguments: Arguments,
    /// Handles of streams as they appear.
    handles: Vec<u64>,
    times: Times,
    unread: UnreadCounts,
}

/// The rows of the trace that a chunk's calls refer to by numbers of their own.
struct Rows {
    /// Row of the first call.
    first: usize,
    thread: ThreadId,
    functions: Vec<(Api, Sym)>,
    streams: Vec<StreamId>,
}

impl Chunked {
    /// Fills in what the rows of the trace are.
    fn put(&mut self, rows: &Rows) {
        let count = self.names.len();
        let none = trace::Call::default();
        let Calls { thread, api, name, correlation, stack, range, .. } = &mut self.calls;
        thread.resize(count, rows.thread);
        api.extend(self.names.iter().map(|name| rows.functions[*name as usize].0));
        name.extend(self.names.iter().map(|name| rows.functions[*name as usize].1));
        correlation.resize(count, none.correlation);
        stack.resize(count, none.stack);
        range.resize(count, none.range);
        let id = |row: CallId| CallId::new(rows.first + row.index());
        self.issues.iter_mut().for_each(|issue| issue.call = id(issue.call));
        self.arguments.call.iter_mut().for_each(|call| *call = id(*call));
        self.arguments.stream.iter_mut().for_each(|stream| {
            *stream = stream.some().map_or(StreamId::NONE, |number| rows.streams[number]);
        });
    }

    /// Keeps the memory and nothing else.
    fn clear(&mut self) {
        self.made_calls = 0;
        self.made.clear();
        self.calls.clear();
        self.names.clear();
        self.functions.clear();
        self.issues.clear();
        self.unordered = 0;
        self.unwritten = 0;
        self.waits.clear();
        self.arguments.clear();
        self.handles.clear();
        self.times = Times::default();
        self.unread = UnreadCounts::default();
    }
}

/// State of the process that reading a chunk's calls needs.
struct Reader<'p> {
    tid: u32,
    strings: &'p Strings,
    texts: &'p Texts,
    clocks: &'p Clocks,
    numbers: &'p Numbers,
    ordered: OrderedCalls<'p>,
    /// Whether operations are joined with calls by order.
    is_joined: bool,
    /// Whether calls whose ids CUPTI did not tell came after holdup gave it up.
    gave_up: bool,
    /// CUPTI recorded the calls before; when holdup gives up CUPTI in the middle of a recording, the calls in progress
    /// have both records.
    recorded_until: Ns,
    functions: FxHashMap<u32, Function>,
    /// Places in [`Chunked::functions`] and [`Chunked::handles`].
    names: FxHashMap<u32, u32>,
    handles: FxHashMap<u64, usize>,
    /// Where times were found last.
    near: usize,
    chunked: Chunked,
}

impl Reader<'_> {
    /// Reads the calls of a chunk.
    fn read(mut self, chunk: &Chunk<'_>) -> Chunked {
        let mut made = take(&mut self.chunked.made);
        self.merged(chunk, &mut made);
        made.iter().for_each(|made| self.call(made));
        Chunked { made, ..self.chunked }
    }

    /// The calls of a chunk in the order they returned. A call of the runtime takes the facts of the only call within it
    /// that issued work, or of the only call at all, which is left out.
    fn merged(&mut self, chunk: &Chunk<'_>, all: &mut Vec<Made>) {
        for (name, call) in chunk.calls_made() {
            self.chunked.made_calls += 1;
            let function = self.function(name);
            let issued = (function.work != Work::None).then_some(function);
            let spool::Call { start, end, result, .. } = call;
            let mut made = Made { name, function, issued, start, end, result, driver: call };
            if function.api == Api::Runtime {
                let within = all.iter().rev().take_while(|inner| inner.start >= start).count();
                let inner = all.len() - within;
                if let Some(own) = only(&all[inner..]) {
                    let of_driver = all.remove(inner + own);
                    (made.issued, made.driver) = (of_driver.issued, of_driver.driver);
                }
            }
            all.push(made);
        }
    }

    fn function(&mut self, name: u32) -> Function {
        let (strings, texts) = (self.strings, self.texts);
        *self.functions.entry(name).or_insert_with(|| Function::of(strings.text(texts.get(name))))
    }

    fn ns(&mut self, ticks: i64) -> Ns {
        self.clocks.ns_near(ticks, &mut self.near)
    }

    /// Adds a call, unless CUPTI recorded it as well.
    fn call(&mut self, made: &Made) {
        let (begun, ended) = (self.ns(made.start), self.ns(made.end));
        let Some((start, end)) =
            self.chunked.times.check(begun, ended).filter(|_| begun >= self.recorded_until)
        else {
            return;
        };
        let function = made.function;
        let functions = &mut self.chunked.functions;
        let name = *self.names.entry(made.name).or_insert_with(|| {
            functions.push((function.api, made.name));
            functions.len() as u32 - 1
        });
        let row = self.chunked.names.len();
        self.chunked.names.push(name);
        self.chunked.calls.start.push(start);
        self.chunked.calls.end.push(end);
        self.chunked.calls.result.push(made.result);
        let came_too_late = self.gave_up && made.issued.is_some() && made.driver.correlation == 0;
        if !self.is_joined || came_too_late {
            self.chunked.unwritten += u64::from(was_recorded(made));
            return self.argument(row, &made.driver);
        }
        if let Some(function) = made.issued {
            self.issue(row, function, &made.driver);
        }
        if function.records_event || function.waits != SyncKind::Unknown {
            self.chunked.waits.push((row, function, spool::Call { result: made.result, ..made.driver }));
        }
    }

    /// Keeps what a call of the driver issued; the call's row may be that of the runtime's call around it.
    fn issue(&mut self, row: usize, function: Function, call: &spool::Call) {
        let spool::Call { start, end, result, flags, bytes, stream, fact, correlation } = *call;
        let handle = match flags & call::HAS_STREAM {
            0 if function.work == Work::Unknown => None,
            0 => Some(if function.own_default { OWN_STREAM } else { 0 }),
            _ => Some(stream),
        };
        let (start, end) = (self.ns(start), self.ns(end));
        let Some(until) = self.ordered.joins_until(start).or(is_told(call).then_some(Ns::MAX)) else {
            self.chunked.unordered += 1;
            return;
        };
        let issue = Issue {
            call: CallId::new(row),
            tid: self.tid,
            start,
            end,
            until,
            stream: handle.map(|handle| self.numbers.stream(self.tid, handle, start)),
            work: function.work,
            bytes,
            fact,
            can: result == 0 && flags & call::CAPTURED == 0,
            correlation,
            is_checked: flags & call::CHECKED != 0,
        };
        self.chunked.issues.push(issue);
    }

    /// Adds what a call's arguments say, where no record of the GPU says it.
    fn argument(&mut self, row: usize, record: &spool::Call) {
        let [src, dst] = [call::SOURCE_SHIFT, call::TARGET_SHIFT]
            .map(|shift| self.valid(cupti::known_memory(record.flags >> shift & 0xff)));
        let argument = Argument {
            call: CallId::new(row),
            bytes: i64::try_from(record.bytes).unwrap_or(i64::MAX),
            copy: self.valid(cupti::known_copy(record.flags & call::DIRECTION)),
            src,
            dst,
            stream: self.stream(record),
            ..Argument::default()
        };
        let silent = argument.copy == CopyKind::Unknown
            && (argument.src, argument.dst) == (MemoryKind::Unknown, MemoryKind::Unknown)
            && argument.stream.is_none()
            && argument.bytes == 0;
        if !silent {
            self.chunked.arguments.push(argument);
        }
    }

    /// A value, unknown where its number is none that holdup knows: these are counted.
    fn valid<T: Default>(&mut self, value: Option<T>) -> T {
        self.chunked.unread.invalid += u64::from(value.is_none());
        value.unwrap_or_default()
    }

    /// The stream that a call names by its handle, numbered among those of the chunk.
    fn stream(&mut self, record: &spool::Call) -> StreamId {
        if record.flags & call::HAS_STREAM == 0 {
            return StreamId::NONE;
        }
        // Handles 0 and 1 are the default stream: the usual one and the explicit legacy one (cuda.h).
        let handle = if record.stream == 1 { 0 } else { record.stream };
        let handles = &mut self.chunked.handles;
        StreamId::new(*self.handles.entry(handle).or_insert_with(|| {
            handles.push(handle);
            handles.len() - 1
        }))
    }
}

/// Which of the calls within a call of the runtime is the driver's side of it.
fn only(within: &[Made]) -> Option<usize> {
    let mut issuing = (0..within.len()).filter(|at| within[*at].issued.is_some());
    match (within.len(), issuing.next(), issuing.next()) {
        (1, None, _) => Some(0),
        (_, first, None) => first,
        _ => None,
    }
}

impl Process<'_, '_> {
    /// Reads the calls of wrappers.
    pub(super) fn wrapped_calls(&mut self, chunks: &[Chunk<'_>]) {
        let size = batch();
        let mut spare = vec![Chunked::default(); size];
        for (batch, first) in chunks.chunks(size).zip((0..).step_by(size)) {
            let (strings, texts, clocks) = (&self.all.trace.strings, &self.texts, &self.clocks);
            let (numbers, later, ordered) = (&self.later.numbers, &self.later, self.ordered());
            let read = |(chunk, spare): (&Chunk<'_>, &mut Chunked)| {
                let tid = chunk.tid();
                let reader = Reader {
                    tid,
                    strings,
                    texts,
                    clocks,
                    numbers,
                    ordered,
                    is_joined: later.is_joined,
                    gave_up: later.gave_up,
                    recorded_until: later.recorded_until.get(&tid).copied().unwrap_or(Ns::MIN),
                    functions: FxHashMap::default(),
                    names: FxHashMap::default(),
                    handles: FxHashMap::default(),
                    near: 0,
                    chunked: take(spare),
                };
                reader.read(chunk)
            };
            spare = batch.par_iter().zip(spare.par_iter_mut()).map(read).collect();
            self.add_calls(&mut spare, batch, first);
        }
    }

    /// Adds the calls of some chunks, of which `first` is the first, and keeps their memory for others.
    fn add_calls(&mut self, chunked: &mut [Chunked], chunks: &[Chunk<'_>], first: usize) {
        let mut next = self.all.trace.calls.len();
        let mut rows = Vec::new();
        for ((chunked, chunk), number) in chunked.iter().zip(chunks).zip(first..) {
            self.chunk = number;
            self.add_times(chunked.times);
            self.add_unread(chunked.unread);
            self.later.driver_calls += chunked.made_calls;
            self.later.unordered += chunked.unordered;
            self.later.unwritten += chunked.unwritten;
            self.begun_before(chunk);
            rows.push((!chunked.names.is_empty()).then(|| self.rows(chunk.tid(), chunked, next)));
            next += chunked.names.len();
        }
        chunked.par_iter_mut().zip(rows).for_each(|(chunked, rows)| {
            if let Some(rows) = rows {
                chunked.put(&rows);
            }
        });
        let (trace, issues) = (&mut self.all.trace, &mut self.later.issues);
        rayon::scope(|scope| {
            scope.spawn(|_| {
                trace.calls.extend(&chunked.iter().map(|chunked| &chunked.calls).collect::<Vec<_>>())
            });
            scope.spawn(|_| {
                trace.arguments.extend(&chunked.iter().map(|chunked| &chunked.arguments).collect::<Vec<_>>());
            });
            scope.spawn(|_| chunked.iter().for_each(|chunked| issues.extend_from_slice(&chunked.issues)));
        });
        chunked.par_iter_mut().for_each(Chunked::clear);
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

    /// Finds the rows that a chunk's calls refer to, and adds what must be added in their order; `first` is the row of the
    /// first call.
    fn rows(&mut self, tid: u32, chunked: &Chunked, first: usize) -> Rows {
        let thread = self.thread(tid);
        let mut function =
            |(api, name): &(Api, u32)| (*api, self.texts.function(&mut self.all.trace.strings, *api, *name));
        let functions = chunked.functions.iter().map(&mut function).collect();
        for (row, function, call) in &chunked.waits {
            let times = (chunked.calls.start[*row], chunked.calls.end[*row]);
            self.waited_for(tid, CallId::new(first + row), times, function, call);
        }
        let streams = chunked.handles.iter().map(|handle| self.stream_of_handle(*handle)).collect();
        Rows { first, thread, functions, streams }
    }

    /// Adds the synchronization that a call is.
    fn waited_for(
        &mut self,
        tid: u32,
        id: CallId,
        (start, end): (Ns, Ns),
        function: &Function,
        call: &spool::Call,
    ) {
        if function.records_event && call.result == 0 {
            self.later.wrapped.events.insert(call.fact, (start, call.stream));
        }
        let recorded = self.later.wrapped.events.get(&call.fact).filter(|_| call.fact != 0).copied();
        let (handle, event) = match function.waits {
            SyncKind::Unknown => return,
            SyncKind::Event => (recorded.map(|(_, handle)| handle), call.fact),
            SyncKind::StreamWaitEvent => (Some(call.stream), call.fact),
            SyncKind::Stream => (Some(call.stream), 0),
            SyncKind::Context => (None, 0),
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
            call: id,
        });
    }

    /// The stream of a handle at level light. Its context is unknown.
    fn stream_of_handle(&mut self, handle: u64) -> StreamId {
        let streams = &mut self.later.wrapped.handles;
        let next = 1 + streams.len() as i64;
        let number = if handle == 0 { 0 } else { *streams.entry(handle).or_insert(next) };
        let all = &mut *self.all;
        all.ids.stream_anywhere(&mut all.trace, self.number, number)
    }

    pub(super) fn function(&mut self, name: u32) -> Function {
        if let Some(known) = self.later.wrapped.functions.get(&name) {
            return *known;
        }
        let function = Function::of(self.all.trace.text(self.texts.get(name)));
        self.later.wrapped.functions.insert(name, function);
        function
    }
}

/// Whether CUPTI told which operations a call issued.
fn is_told(call: &spool::Call) -> bool {
    call.correlation != 0 && call.flags & call::CHECKED == 0
}

/// Whether CUPTI recorded the kernel that a call launched.
fn was_recorded(made: &Made) -> bool {
    let is_launch = made.issued.is_some_and(|function| function.work == Work::Kernel);
    is_launch && is_told(&made.driver) && made.driver.result == 0 && made.driver.flags & call::CAPTURED == 0
}
