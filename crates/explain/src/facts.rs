//! What rules ask of a trace, indexed once.

use crate::class::{Class, Classes};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use trace::{
    Api, CallId, Clock, CopyKind, DeviceId, MemoryKind, Ns, OpId, OpKind, ProcessId, RangeId, RangeKind,
    StreamId, Sym, ThreadId, Trace,
};

/// Cost of a call that no fast call of its name tells: an ordinary launch under a tracer takes
/// about this (3.5 µs bare, 4.7 µs and more traced, on an H200).
const DEFAULT_COST: Ns = 10_000;

/// A trace with the indexes that rules need.
pub(crate) struct Facts<'a> {
    pub trace: &'a Trace,
    classes: Classes,
    /// Slow, outermost CUDA calls, by start.
    pub slow: Vec<CallId>,
    /// Operations by the call that asked for them: `call_ops[first[c]..first[c + 1]]`.
    first_op: Vec<u32>,
    call_ops: Vec<OpId>,
    /// Operations of each stream, by start.
    stream_ops: Vec<Vec<OpId>>,
    usual: FxHashMap<Sym, Ns>,
    /// First call of each process and name.
    first_call: FxHashMap<(ProcessId, Sym), CallId>,
    /// First operation of each process and kernel name.
    first_kernel: FxHashMap<(ProcessId, Sym), OpId>,
    /// First call and last return of each thread.
    thread_span: Vec<(Ns, Ns)>,
    /// The device most of a thread's operations run on.
    thread_device: Vec<DeviceId>,
    /// The tracer's own work, by start.
    pub overheads: Vec<RangeId>,
    issue_order: OnceCell<IssueOrder>,
    lock_calls: Vec<Vec<(Ns, Ns)>>,
    /// All calls, by start.
    order: Vec<CallId>,
}

/// All operations that have a call, in the order they were asked for, by process and device.
type IssueOrder = FxHashMap<(ProcessId, DeviceId), Vec<Issued>>;

/// An operation in issue order.
struct Issued {
    /// When its call began.
    called: Ns,
    /// The latest end of this and all operations before it.
    idle: Ns,
}

/// A copy in figures.
#[derive(Clone, Copy)]
pub(crate) struct CopyFacts {
    pub first: OpId,
    pub start: Ns,
    pub end: Ns,
    pub bytes: i64,
    pub kind: CopyKind,
    pub src: MemoryKind,
    pub dst: MemoryKind,
}

impl CopyFacts {
    pub fn pageable(&self) -> bool {
        self.src == MemoryKind::Pageable || self.dst == MemoryKind::Pageable
    }
}

impl<'a> Facts<'a> {
    pub fn new(trace: &'a Trace, min_wait: Ns) -> Facts<'a> {
        let classes = Classes::new(trace);
        let order = calls_by_start(trace);
        let outer = outer_calls(trace, &order);
        let is_slow = |call: &&CallId| {
            let at = call.index();
            outer[at] == **call && trace.calls.end[at] - trace.calls.start[at] > min_wait
        };
        let slow = order.iter().filter(is_slow).copied().collect();
        let (first_op, call_ops) = ops_by_call(trace, &outer);
        let mut first_call = FxHashMap::default();
        for call in &order {
            let process = trace.process_of_thread(trace.calls.thread[call.index()]);
            first_call.entry((process, trace.calls.name[call.index()])).or_insert(*call);
        }
        Facts {
            trace,
            classes,
            slow,
            first_op,
            call_ops,
            stream_ops: ops_by_stream(trace),
            usual: usual_costs(trace, min_wait),
            first_call,
            first_kernel: first_kernels(trace),
            thread_span: thread_spans(trace),
            thread_device: thread_devices(trace),
            overheads: overheads(trace),
            issue_order: OnceCell::new(),
            lock_calls: lock_calls(trace, &order),
            order,
        }
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

    /// The operations a call asked for.
    pub fn ops(&self, call: CallId) -> &[OpId] {
        let at = call.index();
        &self.call_ops[self.first_op[at] as usize..self.first_op[at + 1] as usize]
    }

    /// The stream of the call's first operation.
    pub fn stream(&self, call: CallId) -> StreamId {
        self.ops(call).first().map_or(StreamId::NONE, |op| self.trace.ops.stream[op.index()])
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
        let mut copies = self.ops(call).iter().filter(is_copy);
        let first = *copies.next()?;
        let row = ops.row(first);
        let start = CopyFacts {
            first,
            start: row.start,
            end: row.end,
            bytes: row.bytes,
            kind: row.copy,
            src: row.src,
            dst: row.dst,
        };
        Some(copies.fold(start, |all, op| CopyFacts {
            start: all.start.min(ops.start[op.index()]),
            end: all.end.max(ops.end[op.index()]),
            bytes: all.bytes.saturating_add(ops.bytes[op.index()]),
            ..all
        }))
    }

    /// Operations of a stream, by start.
    pub fn in_stream(&self, stream: StreamId) -> &[OpId] {
        stream.some().map_or(&[], |stream| &self.stream_ops[stream.index()])
    }

    /// The operation before `op` in its stream.
    pub fn before_in_stream(&self, op: OpId) -> Option<OpId> {
        let all = self.in_stream(self.trace.ops.stream[op.index()]);
        let start = self.trace.ops.start[op.index()];
        let at = all.partition_point(|other| self.trace.ops.start[other.index()] < start);
        all[..at].last().copied()
    }

    /// Operations of other streams of the same device that end within `[from, to]`.
    pub fn ending_elsewhere(&self, op: OpId, from: Ns, to: Ns) -> Vec<OpId> {
        let ops = &self.trace.ops;
        let own = ops.stream[op.index()];
        let device = self.trace.device_of_stream(own);
        let streams = self.trace.streams.ids();
        let others =
            streams.filter(|stream| *stream != own && self.trace.device_of_stream(*stream) == device);
        others
            .filter_map(|stream| {
                let all = self.in_stream(stream);
                let at = all.partition_point(|other| ops.end[other.index()] < from);
                all.get(at).copied().filter(|other| ops.end[other.index()] <= to)
            })
            .collect()
    }

    /// Operations asked for before `time` in the stream and not done by then.
    pub fn pending(&self, stream: StreamId, time: Ns) -> usize {
        let ops = &self.trace.ops;
        let all = self.in_stream(stream);
        let called = |op: &OpId| match ops.call[op.index()].some() {
            Some(call) => self.start(call) < time,
            None => ops.start[op.index()] < time,
        };
        let done = all.partition_point(|op| ops.end[op.index()] <= time);
        let asked = all.partition_point(called);
        asked.saturating_sub(done)
    }

    /// When the device became idle of all that the process asked for before `time`.
    pub fn idle_after(&self, process: ProcessId, device: DeviceId, time: Ns) -> Option<Ns> {
        let order = self.issue_order.get_or_init(|| issue_order(self.trace));
        let issued = order.get(&(process, device))?;
        let before = issued.partition_point(|op| op.called < time);
        issued[..before].last().map(|op| op.idle)
    }

    /// The call before `call` on its thread, if it is one of the last few of the process.
    pub fn previous(&self, call: CallId) -> Option<CallId> {
        let at = self.order.partition_point(|other| self.start(*other) < self.start(call));
        let earlier = self.order[..at].iter().rev().take(64);
        earlier.copied().find(|other| self.thread(*other) == self.thread(call))
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

    /// Whether this is the first call of its name in its process.
    pub fn is_first_call(&self, call: CallId) -> bool {
        self.first_call.get(&(self.process(call), self.trace.calls.name[call.index()])) == Some(&call)
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

    /// First call to last return of a thread, ns.
    pub fn span(&self, thread: ThreadId) -> Ns {
        let (first, last) = self.thread_span[thread.index()];
        last - first
    }
}

fn calls_by_start(trace: &Trace) -> Vec<CallId> {
    let calls = &trace.calls;
    let mut order: Vec<_> = calls.ids().filter(|call| calls.thread[call.index()].is_some()).collect();
    // An outer call comes before the ones within it.
    let key = |call: &CallId| (calls.start[call.index()], -calls.end[call.index()]);
    if !order.is_sorted_by_key(key) {
        order.sort_by_key(key);
    }
    order
}

/// For each call the outermost CUDA call of its thread that it lies in, itself when it lies in
/// none: a runtime call and the driver call it makes are one wait. `NONE` for other calls.
fn outer_calls(trace: &Trace, order: &[CallId]) -> Vec<CallId> {
    let calls = &trace.calls;
    let mut outer = vec![CallId::NONE; calls.len()];
    let mut current = vec![CallId::NONE; trace.threads.len()];
    for call in order {
        let at = call.index();
        if calls.api[at] == Api::Os {
            continue;
        }
        let current = &mut current[calls.thread[at].index()];
        let inside = current.some().is_some_and(|outer| calls.end[at] <= calls.end[outer.index()]);
        if !inside {
            *current = *call;
        }
        outer[at] = *current;
    }
    outer
}

/// Operations by the outermost call that led to them.
fn ops_by_call(trace: &Trace, outer: &[CallId]) -> (Vec<u32>, Vec<OpId>) {
    let caller = |op: OpId| {
        let call = trace.ops.call[op.index()].some()?;
        outer[call.index()].some()
    };
    let mut first = vec![0u32; trace.calls.len() + 2];
    for call in trace.ops.ids().filter_map(caller) {
        first[call.index() + 2] += 1;
    }
    for at in 1..first.len() {
        first[at] += first[at - 1];
    }
    let mut ops = vec![OpId::NONE; first.last().map_or(0, |count| *count as usize)];
    for op in trace.ops.ids() {
        if let Some(call) = caller(op) {
            let next = &mut first[call.index() + 1];
            ops[*next as usize] = op;
            *next += 1;
        }
    }
    (first, ops)
}

fn ops_by_stream(trace: &Trace) -> Vec<Vec<OpId>> {
    let mut streams = vec![Vec::new(); trace.streams.len()];
    for op in trace.ops.ids() {
        if let Some(stream) = trace.ops.stream[op.index()].some() {
            streams[stream.index()].push(op);
        }
    }
    let start = |op: &OpId| trace.ops.start[op.index()];
    for ops in &mut streams {
        if !ops.is_sorted_by_key(start) {
            ops.sort_by_key(start);
        }
    }
    streams
}

/// Median duration of the fast calls of each name, to an eighth of its size: counted in buckets
/// of three bits behind the leading one.
fn usual_costs(trace: &Trace, min_wait: Ns) -> FxHashMap<Sym, Ns> {
    let calls = &trace.calls;
    let mut counts = FxHashMap::<Sym, [u32; 512]>::default();
    for at in 0..calls.len() {
        let duration = calls.end[at] - calls.start[at];
        if duration <= min_wait {
            counts.entry(calls.name[at]).or_insert([0; 512])[bucket(duration)] += 1;
        }
    }
    let median = |counts: &[u32; 512]| {
        let half = counts.iter().map(|count| *count as u64).sum::<u64>().div_ceil(2);
        let mut seen = 0;
        let reaches = |count: &u32| {
            seen += *count as u64;
            seen >= half
        };
        counts.iter().position(reaches).map_or(0, bucket_middle)
    };
    counts.iter().map(|(name, counts)| (*name, median(counts))).collect()
}

fn bucket(duration: Ns) -> usize {
    let duration = duration.max(8) as u64;
    let exponent = duration.ilog2();
    let fraction = (duration >> (exponent - 3)) & 7;
    (exponent as usize) * 8 + fraction as usize
}

fn bucket_middle(bucket: usize) -> Ns {
    let (exponent, fraction) = (bucket / 8, bucket % 8);
    if exponent < 3 {
        return 0;
    }
    (2 * (8 + fraction as Ns) + 1) << (exponent - 3) >> 1
}

fn first_kernels(trace: &Trace) -> FxHashMap<(ProcessId, Sym), OpId> {
    let ops = &trace.ops;
    let mut first = FxHashMap::<(ProcessId, Sym), OpId>::default();
    for op in ops.ids().filter(|op| ops.kind[op.index()] == OpKind::Kernel) {
        let process = trace.process_of_stream(ops.stream[op.index()]);
        let known = first.entry((process, ops.name[op.index()])).or_insert(op);
        if ops.start[op.index()] < ops.start[known.index()] {
            *known = op;
        }
    }
    first
}

fn thread_spans(trace: &Trace) -> Vec<(Ns, Ns)> {
    let mut spans = vec![(Ns::MAX, Ns::MIN); trace.threads.len()];
    let calls = &trace.calls;
    for at in 0..calls.len() {
        if let Some(thread) = calls.thread[at].some() {
            let span = &mut spans[thread.index()];
            *span = (span.0.min(calls.start[at]), span.1.max(calls.end[at]));
        }
    }
    spans
}

fn thread_devices(trace: &Trace) -> Vec<DeviceId> {
    let mut counts = FxHashMap::<(ThreadId, DeviceId), u64>::default();
    for at in 0..trace.ops.len() {
        if let Some(call) = trace.ops.call[at].some() {
            let thread = trace.calls.thread[call.index()];
            let device = trace.device_of_stream(trace.ops.stream[at]);
            *counts.entry((thread, device)).or_default() += 1;
        }
    }
    let mut most = vec![(0, DeviceId::NONE); trace.threads.len()];
    for ((thread, device), count) in counts {
        if let Some(thread) = thread.some() {
            // Ties go to the lower device, so that the result never depends on hashing.
            let better = (count, std::cmp::Reverse(device));
            let known = &mut most[thread.index()];
            if better > (known.0, std::cmp::Reverse(known.1)) {
                *known = (count, device);
            }
        }
    }
    most.into_iter().map(|(_, device)| device).collect()
}

fn overheads(trace: &Trace) -> Vec<RangeId> {
    let ranges = &trace.ranges;
    let mut found: Vec<_> =
        ranges.ids().filter(|range| ranges.kind[range.index()] == RangeKind::Overhead).collect();
    found.sort_by_key(|range| ranges.start[range.index()]);
    found
}

fn issue_order(trace: &Trace) -> IssueOrder {
    let mut order = IssueOrder::default();
    for at in 0..trace.ops.len() {
        let Some(call) = trace.ops.call[at].some() else { continue };
        let stream = trace.ops.stream[at];
        let place = (trace.process_of_stream(stream), trace.device_of_stream(stream));
        let issued = Issued { called: trace.calls.start[call.index()], idle: trace.ops.end[at] };
        order.entry(place).or_default().push(issued);
    }
    for issued in order.values_mut() {
        issued.sort_by_key(|op| op.called);
        let mut idle = Ns::MIN;
        for op in issued {
            idle = idle.max(op.idle);
            op.idle = idle;
        }
    }
    order
}

/// Of each thread, the times it spent in the operating system's lock functions, by start.
fn lock_calls(trace: &Trace, order: &[CallId]) -> Vec<Vec<(Ns, Ns)>> {
    let calls = &trace.calls;
    let mut waits = vec![Vec::new(); trace.threads.len()];
    if calls.api.contains(&Api::Os) {
        let is_lock: Vec<bool> = trace.strings.iter().map(|(_, name)| is_lock_call(name)).collect();
        for at in order.iter().map(|call| call.index()) {
            if calls.api[at] == Api::Os && is_lock[calls.name[at].index()] {
                waits[calls.thread[at].index()].push((calls.start[at], calls.end[at]));
            }
        }
    }
    waits
}

fn is_lock_call(name: &str) -> bool {
    let locks = ["pthread_mutex_lock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_spin_lock"];
    locks.iter().any(|lock| name.starts_with(lock))
}
