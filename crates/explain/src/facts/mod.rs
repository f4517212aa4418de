//! What rules ask of a trace, indexed once.

mod copies;
mod gpu;
#[cfg(test)]
mod tests;

pub(crate) use gpu::Pending;

use crate::Options;
use crate::class::{Class, Classes};
use crate::index::{self, ByCall, DeviceWork, Later};
use crate::peaks::Peaks;
use crate::stretch::Stretch;
use copies::GpuWaits;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use trace::{
    Argument, ArgumentId, CallId, Clock, CopyKind, DeviceId, MemoryKind, Ns, OpId, OpKind, ProcessId,
    RangeId, Selected, StreamId, Sym, SyncId, ThreadId, ThreadRole, Trace, Wait, WaitId,
};

/// Cost of a call that no fast call of its name tells: an ordinary launch under a tracer takes
/// about this (3.5 µs bare, 4.7 µs and more traced, on an H200).
const DEFAULT_COST: Ns = 10_000;

/// A trace with the indexes that rules need.
pub(crate) struct Facts<'a> {
    pub trace: &'a Trace,
    classes: Classes,
    /// Calls that take longer than this are slow, ns.
    min_wait: Ns,
    selected: Selected,
    /// The outermost CUDA call that each call lies in; see [`index::outer_calls`].
    outer: Vec<CallId>,
    /// Slow, outermost CUDA calls, by start.
    pub slow: Vec<CallId>,
    /// Operations by the call that asked for them: `call_ops[first[c]..first[c + 1]]`.
    first_op: Vec<u32>,
    call_ops: Vec<OpId>,
    /// Operations of each stream, by start.
    stream_ops: Vec<Vec<OpId>>,
    /// For each of them the number of the call that asked for it.
    stream_calls: OnceCell<Vec<Vec<u32>>>,
    usual: FxHashMap<Sym, Ns>,
    /// First call of each process and name.
    first_call: FxHashMap<(ProcessId, Sym), CallId>,
    /// The others of that name beside it.
    later: OnceCell<FxHashMap<(ProcessId, Sym), Later>>,
    /// When the first call that needs a context returned, by process and device.
    ready: OnceCell<FxHashMap<(ProcessId, DeviceId), Ns>>,
    /// First launch into each stream.
    first_launch: OnceCell<FxHashMap<StreamId, CallId>>,
    /// First operation of each process and kernel name.
    first_kernel: FxHashMap<(ProcessId, Sym), OpId>,
    /// From the first call or wait of each thread to the last.
    thread_span: Vec<(Ns, Ns)>,
    /// The device most of a thread's operations run on.
    thread_device: Vec<DeviceId>,
    /// The tracer's own work, by start.
    pub overheads: Vec<RangeId>,
    /// When each of these ends.
    overhead_ends: Peaks,
    gpu_waits: OnceCell<GpuWaits>,
    unknown_copies: OnceCell<bool>,
    device_work: OnceCell<FxHashMap<(ProcessId, DeviceId), DeviceWork>>,
    lock_calls: Vec<Vec<(Ns, Ns)>>,
    waits: ByCall<WaitId>,
    /// Recorded waits by process and lock, by start.
    of_locks: OnceCell<FxHashMap<(ProcessId, i64), Vec<WaitId>>>,
    /// When a wait began that found several to have a lock, by process and lock.
    shared: OnceCell<FxHashMap<(ProcessId, i64), Vec<Ns>>>,
    outside_waits: Vec<WaitId>,
    syncs: OnceCell<ByCall<SyncId>>,
    arguments: ByCall<ArgumentId>,
    /// All calls, by start.
    order: Vec<CallId>,
    /// Of each thread its outermost CUDA calls, by start.
    by_thread: OnceCell<Vec<Vec<CallId>>>,
}

/// A copying call's copies on the GPU.
#[derive(Clone, Copy)]
pub(crate) struct CopyFacts {
    pub first: OpId,
    pub start: Ns,
    pub end: Ns,
    pub what: Copied,
}

/// What is copied from where to where.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    pub bytes: i64,
    pub kind: CopyKind,
    pub src: MemoryKind,
    pub dst: MemoryKind,
}

impl CopyFacts {
    /// How long it ran, at least 1 ns.
    pub fn time(&self) -> Ns {
        (self.end - self.start).max(1)
    }
}

impl Copied {
    pub fn pageable(&self) -> bool {
        self.src == MemoryKind::Pageable || self.dst == MemoryKind::Pageable
    }
}

impl<'a> Facts<'a> {
    pub fn new(trace: &'a Trace, options: &Options) -> Facts<'a> {
        let min_wait = options.min_wait_ns;
        let classes = Classes::new(trace);
        let order = index::calls_by_start(trace);
        let outer = index::outer_calls(trace, &order);
        let (first_op, call_ops) = index::ops_by_call(trace, &outer);
        let (waits, outside_waits) = index::waits_by_call(trace, &order, &outer);
        let overheads = index::overheads(trace);
        let mut facts = Facts {
            trace,
            classes,
            min_wait,
            selected: options.selection.of(trace),
            slow: Vec::new(),
            first_op,
            call_ops,
            stream_ops: index::ops_by_stream(trace),
            stream_calls: OnceCell::new(),
            usual: index::usual_costs(trace, min_wait),
            first_call: index::first_calls(trace, &order),
            later: OnceCell::new(),
            ready: OnceCell::new(),
            first_launch: OnceCell::new(),
            first_kernel: index::first_kernels(trace),
            thread_span: index::thread_spans(trace),
            thread_device: index::thread_devices(trace),
            overhead_ends: Peaks::of(overheads.iter().map(|range| trace.ranges.end[range.index()])),
            overheads,
            gpu_waits: OnceCell::new(),
            unknown_copies: OnceCell::new(),
            device_work: OnceCell::new(),
            lock_calls: index::lock_calls(trace, &order),
            waits,
            of_locks: OnceCell::new(),
            shared: OnceCell::new(),
            outside_waits,
            syncs: OnceCell::new(),
            arguments: index::arguments_by_call(trace, &outer),
            order,
            outer,
            by_thread: OnceCell::new(),
        };
        facts.slow = facts.calls_where(|call| facts.is_slow(call));
        facts
    }

    pub fn class(&self, call: CallId) -> Class {
        self.classes.of(self.trace.calls.name[call.index()], self.trace.calls.api[call.index()])
    }

    /// Whether host and GPU times can be compared.
    pub fn one_clock(&self) -> bool {
        self.trace.meta.clock == Clock::Aligned
    }

    pub fn start(&self, call: CallId) -> Ns {
        self.trace.calls.start[call.index()]
    }

    pub fn end(&self, call: CallId) -> Ns {
        self.trace.calls.end[call.index()]
    }

    pub fn duration(&self, call: CallId) -> Ns {
        self.end(call) - self.start(call)
    }

    pub fn thread(&self, call: CallId) -> ThreadId {
        self.trace.calls.thread[call.index()]
    }

    pub fn process(&self, call: CallId) -> ProcessId {
        self.trace.process_of_thread(self.thread(call))
    }

    /// What a call of this name costs when nothing holds it up: the median of the fast ones.
    pub fn usual(&self, call: CallId) -> Ns {
        let known = self.usual.get(&self.trace.calls.name[call.index()]);
        known.copied().unwrap_or(DEFAULT_COST).min(self.duration(call))
    }

    /// How far the end of a wait may lie from the end of what it waited for: the waiter still has
    /// its own work to do, and the holder lets go of a lock before it returns. On an H200 launches
    /// return 17 to 245 µs after the copy of 1 to 54 ms that held them, in one recording up to
    /// 352 µs after 41 ms.
    pub fn tolerance(&self, call: CallId) -> Ns {
        let duration = self.duration(call);
        let most = (duration / 100).max(250_000);
        (self.usual(call).saturating_mul(2) + duration / 100 * 15).clamp(20_000, most)
    }

    /// Whether the trace has records of the GPU's operations at all.
    pub fn has_operations(&self) -> bool {
        !self.trace.ops.is_empty()
    }

    /// The operations a call asked for.
    pub fn ops(&self, call: CallId) -> &[OpId] {
        let at = call.index();
        &self.call_ops[self.first_op[at] as usize..self.first_op[at + 1] as usize]
    }

    /// The stream of the call's first operation, else the one its arguments name.
    pub fn stream(&self, call: CallId) -> StreamId {
        let of_arguments = |row: ArgumentId| self.trace.arguments.stream[row.index()].some();
        match self.ops(call).first() {
            Some(op) => self.trace.ops.stream[op.index()],
            None => self.arguments.of(call).find_map(of_arguments).unwrap_or(StreamId::NONE),
        }
    }

    /// The kernels a launch put into its stream: those that the GPU recorded, else what its arguments name.
    pub fn kernels(&self, call: CallId) -> impl Iterator<Item = Sym> {
        let (ops, arguments) = (&self.trace.ops, &self.trace.arguments);
        let recorded = self.ops(call).iter().filter(|op| ops.kind[op.index()] == OpKind::Kernel);
        let named = self.arguments.of(call).map(|row| arguments.kernel[row.index()]);
        let named = named.filter(move |kernel| self.ops(call).is_empty() && !kernel.is_empty());
        recorded.map(|op| ops.name[op.index()]).chain(named)
    }

    /// The device a call works on: that of its operations, else that of its thread.
    pub fn device(&self, call: CallId) -> DeviceId {
        let device = self.trace.device_of_stream(self.stream(call));
        if device.is_some() { device } else { self.thread_device[self.thread(call).index()] }
    }

    /// A copying call's copies taken together.
    pub fn copy(&self, call: CallId) -> Option<CopyFacts> {
        let ops = &self.trace.ops;
        let is_copy = |op: &&OpId| ops.kind[op.index()] == OpKind::Copy;
        let copies = || self.ops(call).iter().filter(is_copy);
        let first = *copies().min_by_key(|op| ops.start[op.index()])?;
        let row = ops.row(first);
        let what = Copied { bytes: row.bytes, kind: row.copy, src: row.src, dst: row.dst };
        let start = CopyFacts { first, start: row.start, end: row.end, what };
        Some(copies().filter(|op| **op != first).fold(start, |all, op| CopyFacts {
            start: all.start.min(ops.start[op.index()]),
            end: all.end.max(ops.end[op.index()]),
            what: Copied { bytes: all.what.bytes.saturating_add(ops.bytes[op.index()]), ..all.what },
            ..all
        }))
    }

    /// What a call copies: as its copies on the GPU tell, else its arguments.
    pub fn copied(&self, call: CallId) -> Option<Copied> {
        let arguments = || self.arguments.of(call).map(|row| self.trace.arguments.row(row));
        let asked = || arguments().find(|row| row.copy != CopyKind::Unknown);
        let of_arguments =
            |row: Argument| Copied { bytes: row.bytes, kind: row.copy, src: row.src, dst: row.dst };
        self.copy(call).map(|copy| copy.what).or_else(|| asked().map(of_arguments))
    }

    /// The outermost CUDA call before `call` on its thread.
    pub fn previous(&self, call: CallId) -> Option<CallId> {
        let index = || index::outermost_by_thread(self.trace, &self.order, &self.outer);
        let own = &self.by_thread.get_or_init(index)[self.thread(call).index()];
        let at = own.partition_point(|other| self.start(*other) < self.start(call));
        own[..at].last().copied()
    }

    /// Whether a call of the same name in the same process and on the same device began and ended within `[from, to)`,
    /// as the first thousands of calls tell that began there.
    pub fn has_like(&self, call: CallId, from: Ns, to: Ns) -> bool {
        const MOST: usize = 10_000;
        let name = |call: CallId| self.trace.calls.name[call.index()];
        let (wanted, process, device) = (name(call), self.process(call), self.device(call));
        if device.is_none() && self.trace.devices.len() > 1 {
            return false;
        }
        let begun = self.order.partition_point(|other| self.start(*other) < from);
        let within = self.order[begun..].iter().take(MOST).take_while(|other| self.start(**other) < to);
        within.copied().any(|other| {
            let alike = name(other) == wanted && self.end(other) < to;
            alike && self.process(other) == process && self.device(other) == device
        })
    }

    /// The calls that `wanted` picks, by start.
    pub fn calls_where(&self, wanted: impl Fn(CallId) -> bool) -> Vec<CallId> {
        self.order.iter().copied().filter(|call| wanted(*call)).collect()
    }

    /// When `call`'s thread waited for a lock within it, as the operating system's calls show.
    pub fn lock_waits(&self, call: CallId) -> impl Iterator<Item = (Ns, Ns)> {
        let waits = &self.lock_calls[self.thread(call).index()];
        let from = waits.partition_point(|wait| wait.0 < self.start(call));
        let end = self.end(call);
        waits[from..].iter().copied().take_while(move |wait| wait.1 <= end)
    }

    /// The outermost call that `call` lies in: what the program called. `NONE` for none.
    pub fn outermost(&self, call: CallId) -> CallId {
        call.some().map_or(CallId::NONE, |call| self.outer[call.index()])
    }

    /// Whether this is a call of the program's own that takes longer than the threshold.
    pub fn is_slow(&self, call: CallId) -> bool {
        self.outermost(call) == call && self.duration(call) > self.min_wait
    }

    /// Whether this takes longer than the threshold.
    pub fn is_long(&self, stretch: Stretch) -> bool {
        stretch.duration(self.trace) > self.min_wait
    }

    /// Whether this may appear as a waiter.
    pub fn is_chosen(&self, stretch: Stretch) -> bool {
        let trace = self.trace;
        self.selected.time(stretch.start(trace), stretch.end(trace))
            && self.selected.caller(stretch.thread(trace), stretch.start(trace))
            && self.selected.name(stretch.name(trace))
    }

    /// The outermost calls that recorded waits for locks lie in, then the waits that lie in none, both
    /// in the tables' order.
    pub fn waiting(&self) -> impl Iterator<Item = Stretch> {
        let outside = self.outside_waits.iter().copied().map(Stretch::Wait);
        let all = self.waits.calls().map(Stretch::Call).chain(outside);
        // What the tracer's own threads wait for holds up no one.
        all.filter(|stretch| !self.is_tracer(stretch.thread(self.trace)))
    }

    /// Whether a thread is the tracer's own.
    pub fn is_tracer(&self, thread: ThreadId) -> bool {
        thread.some().is_some_and(|thread| self.trace.threads.role[thread.index()] == ThreadRole::Tracer)
    }

    /// The recorded waits for locks within an outermost call.
    pub fn waits(&self, call: CallId) -> impl Iterator<Item = WaitId> {
        self.waits.of(call)
    }

    /// Whether a wait for the same lock that began during this one, or this one, found several to have it.
    pub fn was_shared(&self, wait: &Wait) -> bool {
        let found = self.shared.get_or_init(|| index::found_shared(self.trace));
        let lock = (self.trace.process_of_thread(wait.thread), wait.lock);
        found.get(&lock).is_some_and(|starts| {
            let from = starts.partition_point(|start| *start < wait.start);
            starts.get(from).is_some_and(|start| *start < wait.end)
        })
    }

    /// Recorded waits for the same lock that began during this one, by start, this one aside.
    pub fn waits_for_lock(&self, wait: &Wait) -> impl Iterator<Item = Wait> {
        let of_locks = self.of_locks.get_or_init(|| index::waits_of_locks(self.trace));
        let lock = (self.trace.process_of_thread(wait.thread), wait.lock);
        let all: &[WaitId] = of_locks.get(&lock).map_or(&[], |waits| waits);
        let waits = &self.trace.waits;
        let from = all.partition_point(|other| waits.start[other.index()] < wait.start);
        let (thread, end) = (wait.thread, wait.end);
        let within =
            all[from..].iter().map(|other| waits.row(*other)).take_while(move |other| other.start < end);
        within.filter(move |other| other.thread != thread)
    }

    /// The tracer's own work during a call, by start.
    pub fn overheads_during(&self, call: CallId) -> Vec<RangeId> {
        let starts = &self.trace.ranges.start;
        let began = self.overheads.partition_point(|range| starts[range.index()] < self.end(call));
        let during = self.overhead_ends.above(self.start(call), began);
        let mut during: Vec<_> = during.map(|at| self.overheads[at]).collect();
        during.reverse();
        during
    }

    /// Whether this is the first call of its name in its process.
    pub fn is_first_call(&self, call: CallId) -> bool {
        self.first_call.get(&(self.process(call), self.trace.calls.name[call.index()])) == Some(&call)
    }

    /// Whether a call makes its device's context, or waits for another that does: none that needs one had returned there
    /// when it began, and most later ones of its name do not take as long.
    pub fn is_once_on_device(&self, call: CallId) -> bool {
        let alike = |other: &CallId| {
            let name =
                |call: CallId| (self.trace.calls.name[call.index()], self.process(call), self.device(call));
            *other != call && name(*other) == name(call) && !self.is_first_on_device(*other)
        };
        if !self.is_first_on_device(call) {
            return false;
        }
        let (mut later, mut as_long) = (0, 0);
        for other in self.slow.iter().copied().filter(alike) {
            later += 1;
            as_long += u64::from(self.duration(other) >= self.duration(call) / 2);
        }
        later == 0 || as_long * 2 < later
    }

    /// Whether no other call that needs a context had returned on this device when the call began.
    fn is_first_on_device(&self, call: CallId) -> bool {
        let index = || {
            let mut ready = FxHashMap::<_, Ns>::default();
            for call in
                self.calls_where(|call| self.outermost(call) == call && self.class(call).needs_context())
            {
                let ready = ready.entry((self.process(call), self.device(call))).or_insert(Ns::MAX);
                *ready = (*ready).min(self.end(call));
            }
            ready
        };
        let ready = self.ready.get_or_init(index).get(&(self.process(call), self.device(call)));
        self.class(call).needs_context() && ready.is_some_and(|ready| self.start(call) < *ready)
    }

    /// Whether this is the trace's first launch into its stream.
    pub fn is_first_launch(&self, call: CallId) -> bool {
        let index = || {
            let mut first = FxHashMap::default();
            for launch in self.calls_where(|call| self.class(call) == Class::Launch) {
                first.entry(self.stream(launch)).or_insert(launch);
            }
            first
        };
        let stream = self.stream(call).some();
        stream.is_some_and(|stream| self.first_launch.get_or_init(index).get(&stream) == Some(&call))
    }

    /// Whether the later calls of a first call's name take as long, most of them half as long at least: whatever
    /// took the time, it is not there once.
    pub fn is_nothing_new(&self, call: CallId) -> bool {
        let index = || index::later_calls(self.trace, &self.outer, &self.first_call);
        let name = (self.process(call), self.trace.calls.name[call.index()]);
        let later = self.later.get_or_init(index).get(&name).copied().unwrap_or_default();
        later.all > 0 && later.as_long * 2 >= later.all
    }

    /// The first kernel of this launch that its process had not run before.
    pub fn new_kernel(&self, call: CallId) -> Option<OpId> {
        let process = self.process(call);
        let ops = &self.trace.ops;
        let is_new = |op: &&OpId| {
            let first = self.first_kernel.get(&(process, ops.name[op.index()]));
            ops.kind[op.index()] == OpKind::Kernel && first == Some(*op)
        };
        self.ops(call).iter().find(is_new).copied()
    }

    /// From a thread's first call or wait to its last, ns; see [`index::thread_spans`].
    pub fn span(&self, thread: ThreadId) -> Ns {
        let (first, last) = self.thread_span[thread.index()];
        last - first
    }

    /// The part of [`Facts::span`] in the time that is looked at, ns.
    pub fn chosen_span(&self, thread: ThreadId) -> Ns {
        let (first, last) = self.thread_span[thread.index()];
        self.selected.part(first, last)
    }

    /// A library without its path.
    pub fn library(&self, name: Sym) -> &'a str {
        let path = self.trace.text(name);
        match path.rsplit('/').next() {
            None => "",
            Some(file) => file,
        }
    }
}
