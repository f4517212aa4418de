//! Merges blocks of events, in order, into one trace.

use super::batch::{ARROWS, Batch, CallDraft, Keys, Label, RangeDraft, Span, StreamKey};
use super::header::Header;
use super::python::{self, Backward};
use super::stack::Places;
use crate::finish::finish;
use crate::identities::Identities;
use rustc_hash::FxHashMap;
use trace::{
    Call, CallId, CorrelationIndex, OpId, ProcessId, Range, RangeId, RangeKind, StreamId, Strings, Sym,
    SyncId, ThreadId, Trace, partition_point_near,
};

/// A trace under construction.
#[derive(Default)]
pub(super) struct Merge {
    trace: Trace,
    identities: Identities,
    places: Places,
    /// Streams as events state them; `ops.stream` and `syncs.stream` number these until
    /// [`Merge::finish`] knows which process they belong to.
    streams: Keys<StreamKey>,
    labels: Vec<LabelText>,
    /// External id of each call; 0 for none.
    call_external: Vec<i64>,
    /// Process and external id of operators: each process has its own external ids.
    operators: Vec<((ProcessId, i64), RangeId)>,
    backward: Backward,
}

enum LabelText {
    Process(i64, Sym),
    Thread(i64, i64, Sym),
}

impl Merge {
    /// Whether any event was kept.
    pub fn is_empty(&self) -> bool {
        let trace = &self.trace;
        trace.calls.is_empty() && trace.ops.is_empty() && trace.ranges.is_empty()
    }

    pub fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// Appends a block's events.
    pub fn add(&mut self, batch: Batch) {
        let symbols = Symbols::new(&batch.strings, &mut self.trace.strings);
        let threads = self.threads(&batch.threads.keys);
        for call in &batch.calls {
            self.call(call, &symbols, &threads);
        }
        for range in &batch.ranges {
            self.range(range, &symbols, &threads);
        }
        let streams: Vec<_> = batch.streams.keys.iter().map(|key| self.streams.number(*key)).collect();
        for (stream, mut op) in batch.ops {
            op.name = symbols.of(op.name);
            op.communicator = symbols.of(op.communicator);
            op.stream = StreamId::new(streams[stream as usize] as usize);
            self.trace.ops.push(op);
        }
        for sync in batch.syncs {
            self.trace.syncs.push(trace::Sync {
                start: sync.start,
                end: sync.end,
                kind: sync.kind,
                stream: StreamId::new(streams[sync.stream as usize] as usize),
                event: sync.event,
                correlation: sync.correlation,
                ..Default::default()
            });
        }
        self.labels.extend(batch.labels.into_iter().map(|label| match label {
            Label::Process(pid, name) => LabelText::Process(pid, symbols.of(name)),
            Label::Thread(pid, tid, name) => LabelText::Thread(pid, tid, symbols.of(name)),
        }));
        let meta = &mut self.trace.meta;
        meta.leave_out(ARROWS, batch.arrows);
        batch.left_out.into_iter().for_each(|(what, count)| meta.leave_out(what, count));
        batch.lost.into_iter().for_each(|(why, count)| meta.lost.records(why, count));
    }

    /// The rows of a block's threads. Events of the tracer itself carry pid −1: no thread.
    fn threads(&mut self, keys: &[(i64, i64)]) -> Vec<ThreadId> {
        let row = |&(pid, tid): &(i64, i64)| match pid {
            ..0 => ThreadId::NONE,
            _ => self.identities.thread(&mut self.trace, pid, tid),
        };
        keys.iter().map(row).collect()
    }

    fn call(&mut self, call: &CallDraft, symbols: &Symbols, threads: &[ThreadId]) {
        let Span { start, end, thread, name, external } = call.span;
        self.trace.calls.push(Call {
            start,
            end,
            thread: threads[thread as usize],
            api: call.api,
            name: symbols.of(name),
            correlation: call.correlation,
            ..Default::default()
        });
        self.call_external.push(external);
    }

    fn range(&mut self, range: &RangeDraft, symbols: &Symbols, threads: &[ThreadId]) {
        let Span { start, end, thread, name, external } = range.span;
        let thread = threads[thread as usize];
        let stack = self.places.stack(&mut self.trace, symbols.of(range.stack));
        let id = self.trace.ranges.push(Range {
            start,
            end,
            thread,
            kind: range.kind,
            name: symbols.of(name),
            stack,
            ..Range::default()
        });
        if range.kind == RangeKind::Operator
            && let Some(autograd) = range.autograd
        {
            self.backward.operator(id, autograd);
        }
        if range.kind == RangeKind::Operator && external != 0 {
            self.operators.push(((self.trace.process_of_thread(thread), external), id));
        }
    }

    /// The finished trace.
    pub fn finish(mut self, header: Header) -> Trace {
        header.apply(&mut self.trace, &mut self.identities);
        self.name_rows();
        self.link_operators();
        std::mem::take(&mut self.backward).link(&mut self.trace, &mut self.places);
        python::remark(&mut self.trace);
        let processes = self.op_processes();
        self.place_ops(&processes);
        finish(&mut self.trace);
        self.trace
    }

    /// Names the processes and threads of host events; the viewer's rows for GPUs have names too, but no row here.
    fn name_rows(&mut self) {
        for label in std::mem::take(&mut self.labels) {
            match label {
                LabelText::Process(pid, name) => {
                    if let Some(process) = self.identities.known_process(pid) {
                        self.trace.processes.name[process] = name;
                    }
                }
                LabelText::Thread(pid, tid, name) => {
                    if let Some(thread) = self.identities.known_thread(pid, tid) {
                        let name = thread_name(self.trace.text(name)).to_owned();
                        self.trace.threads.name[thread] = self.trace.strings.intern(&name);
                    }
                }
            }
        }
    }

    /// Links calls to the operator of their process with their external id.
    fn link_operators(&mut self) {
        let mut operators = std::mem::take(&mut self.operators);
        operators.sort_unstable();
        // Calls are in the order of their operators, nearly.
        let mut near = 0;
        for (at, external) in self.call_external.iter().enumerate() {
            if *external == 0 {
                continue;
            }
            let key = (self.trace.process_of_thread(self.trace.calls.thread[at]), *external);
            near = partition_point_near(operators.len(), near, |at| operators[at].0 < key);
            if let Some((_, operator)) = operators.get(near).filter(|operator| operator.0 == key) {
                self.trace.calls.range[at] = *operator;
            }
        }
        self.call_external = Vec::new();
    }

    /// The process of each operation, then of each synchronization. GPU events name only their device. In a trace of
    /// several processes, an event belongs to the only process that used its correlation id; if several did, to none.
    fn op_processes(&mut self) -> Processes {
        let trace = &self.trace;
        if trace.processes.is_empty() && !(trace.ops.is_empty() && trace.syncs.is_empty()) {
            // A trace of GPU events only has one process, whose id is unknown.
            return Processes::One(self.identities.process(&mut self.trace, 0));
        }
        let mut used = vec![0u64; trace.processes.len()];
        for thread in &trace.calls.thread {
            if let Some(process) = trace.process_of_thread(*thread).some() {
                used[process] += 1;
            }
        }
        let callers: Vec<_> = trace.processes.ids().filter(|id| used[*id] > 0).collect();
        if let &[] | &[_] = callers.as_slice() {
            let only = callers.first().or(trace.processes.ids().next().as_ref()).copied();
            return Processes::One(only.unwrap_or(ProcessId::NONE));
        }
        let index = CorrelationIndex::new(trace);
        let of = |correlation: i64| {
            let mut users =
                callers.iter().filter(|process| index.call(**process, correlation) != CallId::NONE);
            match (users.next(), users.next()) {
                (Some(only), None) => *only,
                _ => ProcessId::NONE,
            }
        };
        let correlations = trace.ops.correlation.iter().chain(&trace.syncs.correlation);
        Processes::Each(correlations.map(|correlation| of(*correlation)).collect())
    }

    /// Gives operations and synchronizations their rows of the streams table.
    fn place_ops(&mut self, processes: &Processes) {
        let mut place = FxHashMap::<(ProcessId, StreamId), StreamId>::default();
        let ops = self.trace.ops.len();
        for at in 0..ops + self.trace.syncs.len() {
            let process = processes.of(at);
            let op = (at < ops).then(|| OpId::new(at).index());
            let temporary = match op {
                Some(op) => self.trace.ops.stream[op],
                None => self.trace.syncs.stream[at - ops],
            };
            let (trace, identities) = (&mut self.trace, &mut self.identities);
            let key = self.streams.keys[temporary];
            // A GPU event of an unknown process still needs a stream to be listed under.
            let add = || identities.stream_of(trace, process, key);
            let stream = *place.entry((process, temporary)).or_insert_with(add);
            match op {
                Some(op) => self.trace.ops.stream[op] = stream,
                None => {
                    let sync = SyncId::new(at - ops).index();
                    self.trace.syncs.stream[sync] = stream;
                    self.trace.syncs.process[sync] = process;
                }
            }
        }
    }
}

/// Which process each operation, then each synchronization, belongs to.
enum Processes {
    One(ProcessId),
    Each(Vec<ProcessId>),
}

impl Processes {
    fn of(&self, at: usize) -> ProcessId {
        match self {
            Processes::One(process) => *process,
            Processes::Each(processes) => processes[at],
        }
    }
}

/// The trace's symbol for each symbol of a block.
struct Symbols(Vec<Sym>);

impl Symbols {
    fn new(of: &Strings, within: &mut Strings) -> Symbols {
        Symbols(of.iter().map(|(_, text)| within.intern(text)).collect())
    }

    fn of(&self, sym: Sym) -> Sym {
        self.0[sym]
    }
}

/// The name within Kineto's `thread 1420633792 (python)`.
fn thread_name(label: &str) -> &str {
    let inner = label.strip_prefix("thread ").and_then(|rest| rest.split_once(" ("));
    inner.and_then(|(_, name)| name.strip_suffix(')')).unwrap_or(label)
}
