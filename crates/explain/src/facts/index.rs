//! The indexes behind [`Facts`](crate::facts::Facts), each built in one pass over a table.

use rustc_hash::{FxHashMap, FxHashSet};
use trace::{
    Api, ArgumentId, CallId, DeviceId, Ns, OpId, OpKind, ProcessId, RangeId, RangeKind, State, StreamId, Sym,
    SyncId, ThreadId, ThreadState, Times, Trace, WaitId,
};
use waits::{ByCall, CallOrder, lock_waits};

/// The arguments of each outermost call and of the calls within it.
pub(crate) fn arguments_by_call(trace: &Trace, order: &CallOrder<'_>) -> ByCall<ArgumentId> {
    let arguments = &trace.arguments;
    let caller =
        |row: ArgumentId| arguments.call[row.index()].some().map(|call| (order.outermost(call), row));
    ByCall::new(arguments.ids().filter_map(caller))
}

/// Synchronizations by the outermost call that waited.
pub(crate) fn syncs_by_call(trace: &Trace, order: &CallOrder<'_>) -> ByCall<SyncId> {
    let syncs = &trace.syncs;
    let caller = |sync: SyncId| syncs.call[sync.index()].some().map(|call| (order.outermost(call), sync));
    ByCall::new(syncs.ids().filter_map(caller))
}

/// Recorded waits of known threads, by process and lock, by start.
pub(crate) fn waits_of_locks(trace: &Trace) -> FxHashMap<(ProcessId, i64), Vec<WaitId>> {
    let waits = &trace.waits;
    let mut of_locks = FxHashMap::<_, Vec<WaitId>>::default();
    for wait in lock_waits(trace).filter(|wait| waits.thread[wait.index()].is_some()) {
        let process = trace.threads.process[waits.thread[wait.index()].index()];
        of_locks.entry((process, waits.lock[wait.index()])).or_default().push(wait);
    }
    of_locks.values_mut().for_each(|of_lock| of_lock.sort_by_key(|wait| waits.start[wait.index()]));
    of_locks
}

/// The sorted starts of waits that found several holders of their lock, ns, by process and lock.
pub(crate) fn found_shared(trace: &Trace) -> FxHashMap<(ProcessId, i64), Vec<Ns>> {
    let waits = &trace.waits;
    let mut found = FxHashMap::<_, Vec<Ns>>::default();
    let at = lock_waits(trace).map(|wait| wait.index());
    for at in at.filter(|at| waits.holders[*at] > 1 && waits.thread[*at].is_some()) {
        let process = trace.threads.process[waits.thread[at].index()];
        found.entry((process, waits.lock[at])).or_default().push(waits.start[at]);
    }
    found.values_mut().for_each(|starts| starts.sort_unstable());
    found
}

/// The scheduler's numbers of each thread, by start.
pub(crate) fn states_by_thread(trace: &Trace) -> Vec<Vec<State>> {
    let mut by_thread = vec![Vec::new(); trace.threads.len()];
    for state in trace.states.ids().map(|state| trace.states.row(state)) {
        if let Some(thread) = state.thread.some().filter(|_| state.start < state.end) {
            by_thread[thread.index()].push(state);
        }
    }
    by_thread.iter_mut().for_each(|rows| rows.sort_by_key(|row| row.start));
    by_thread
}

/// The times at which each thread was in a range that a framework or an interpreter marked, or around which samples found it running.
pub(crate) fn marked_by_thread(trace: &Trace) -> Vec<Times> {
    let (ranges, mut by_thread) = (&trace.ranges, vec![Vec::new(); trace.threads.len()]);
    for at in 0..ranges.len() {
        let is_work = matches!(ranges.kind[at], RangeKind::Operator | RangeKind::Python);
        if let Some(thread) = ranges.thread[at].some().filter(|_| is_work) {
            by_thread[thread.index()].push((ranges.start[at], ranges.end[at]));
        }
    }
    for (thread, at) in running_samples(trace).iter().enumerate() {
        by_thread[thread].extend(around(at));
    }
    by_thread.into_iter().map(Times::of).collect()
}

/// The ranges that the program marked on each thread, by start, outer before inner.
pub(crate) fn user_ranges_by_thread(trace: &Trace) -> Vec<Vec<(Ns, Ns)>> {
    let (ranges, mut by_thread) = (&trace.ranges, vec![Vec::new(); trace.threads.len()]);
    for at in (0..ranges.len()).filter(|at| ranges.kind[*at] == RangeKind::User) {
        if let Some(thread) = ranges.thread[at].some() {
            by_thread[thread.index()].push((ranges.start[at], ranges.end[at]));
        }
    }
    by_thread.iter_mut().for_each(|own| own.sort_unstable_by_key(|(start, end)| (*start, -end)));
    by_thread
}

/// The moments at which samples found each thread running, in order.
fn running_samples(trace: &Trace) -> Vec<Vec<Ns>> {
    let (samples, mut by_thread) = (&trace.samples, vec![Vec::new(); trace.threads.len()]);
    for at in (0..samples.len()).filter(|at| samples.state[*at] == ThreadState::Running) {
        if let Some(thread) = samples.thread[at].some() {
            by_thread[thread.index()].push(samples.at[at]);
        }
    }
    by_thread.iter_mut().for_each(|moments| moments.sort_unstable());
    by_thread
}

/// The times that samples stand for: half of what usually lies between two of them, before and after each.
fn around(moments: &[Ns]) -> impl Iterator<Item = (Ns, Ns)> {
    let mut between: Vec<Ns> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let middle = between.len() / 2;
    let usual = if between.is_empty() { 0 } else { *between.select_nth_unstable(middle).1 };
    moments.iter().map(move |at| (at - usual / 2, at + usual / 2))
}

/// The number of the issuing call for each operation of each stream, by start: all operations of a graph are one call's.
pub(crate) fn calls_of_streams(trace: &Trace, order: &CallOrder<'_>, streams: &[Vec<OpId>]) -> Vec<Vec<u32>> {
    let caller = |op: OpId| trace.ops.call[op.index()].some().map(|call| order.outermost(call));
    let number = |ops: &Vec<OpId>| {
        let (mut number, mut last) = (0, None);
        let mut numbered = |op: &OpId| {
            let call = caller(*op);
            number += u32::from(call.is_none() || call != last);
            last = call;
            number
        };
        ops.iter().map(&mut numbered).collect()
    };
    streams.iter().map(number).collect()
}

/// Median duration of the fast calls of each name, ns, to an eighth of its size: buckets of three bits after the leading
/// one.
pub(crate) fn usual_costs(trace: &Trace, min_wait: Ns) -> FxHashMap<Sym, Ns> {
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

/// The first call of each process and name.
pub(crate) fn first_calls(trace: &Trace, order: &[CallId]) -> FxHashMap<(ProcessId, Sym), CallId> {
    let mut first = FxHashMap::default();
    for call in order {
        let process = trace.process_of_thread(trace.calls.thread[call.index()]);
        first.entry((process, trace.calls.name[call.index()])).or_insert(*call);
    }
    first
}

/// The calls of a name after the first.
#[derive(Clone, Copy, Default)]
pub(crate) struct Later {
    pub all: u64,
    /// The calls that take at least half as long as the first.
    pub as_long: u64,
}

/// The outermost CUDA calls after the first of each process and name.
pub(crate) fn later_calls(
    trace: &Trace,
    order: &CallOrder<'_>,
    first: &FxHashMap<(ProcessId, Sym), CallId>,
) -> FxHashMap<(ProcessId, Sym), Later> {
    let calls = &trace.calls;
    let mut later = FxHashMap::<_, Later>::default();
    for call in calls.ids().filter(|call| order.outermost(*call) == *call) {
        let name = (trace.process_of_thread(calls.thread[call.index()]), calls.name[call.index()]);
        let duration = |call: CallId| calls.end[call.index()] - calls.start[call.index()];
        let Some(first) = first.get(&name).filter(|first| **first != call) else { continue };
        let known = later.entry(name).or_default();
        known.all += 1;
        known.as_long += u64::from(duration(call) >= duration(*first) / 2);
    }
    later
}

pub(crate) fn first_kernels(trace: &Trace) -> FxHashMap<(ProcessId, Sym), OpId> {
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

/// The time from the first call or wait of each thread to the last, ns. A thread without calls may have run all the time: it
/// gets the whole trace.
pub(crate) fn thread_spans(trace: &Trace) -> Vec<(Ns, Ns)> {
    const NEVER: (Ns, Ns) = (Ns::MAX, Ns::MIN);
    let mut spans = vec![NEVER; trace.threads.len()];
    let widen = |spans: &mut Vec<(Ns, Ns)>, thread: ThreadId, start: Ns, end: Ns| {
        if let Some(thread) = thread.some() {
            let span = &mut spans[thread.index()];
            *span = (span.0.min(start), span.1.max(end));
        }
    };
    let (calls, waits) = (&trace.calls, &trace.waits);
    for at in 0..calls.len() {
        widen(&mut spans, calls.thread[at], calls.start[at], calls.end[at]);
    }
    let whole = trace.span().unwrap_or(NEVER);
    spans.iter_mut().filter(|span| **span == NEVER).for_each(|span| *span = whole);
    for at in lock_waits(trace).map(|wait| wait.index()) {
        widen(&mut spans, waits.thread[at], waits.start[at], waits.end[at]);
    }
    spans
}

/// The processes of all operations; [`ProcessId::NONE`] if that of an operation is unknown.
pub(crate) fn processes_with_operations(trace: &Trace) -> FxHashSet<ProcessId> {
    let streams: FxHashSet<StreamId> = trace.ops.stream.iter().copied().collect();
    let of_stream =
        |stream: StreamId| stream.some().map_or(ProcessId::NONE, |stream| trace.process_of_stream(stream));
    streams.into_iter().map(of_stream).collect()
}

/// The device that runs most of each thread's operations; for a thread without operations the only device of its process.
pub(crate) fn thread_devices(trace: &Trace) -> Vec<DeviceId> {
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
    let only = only_devices(trace);
    let known = |(thread, (_, device)): (ThreadId, (u64, DeviceId))| match device.some() {
        Some(device) => device,
        None => only.get(&trace.threads.process[thread.index()]).copied().unwrap_or(DeviceId::NONE),
    };
    trace.threads.ids().zip(most).map(known).collect()
}

/// The device of each process that uses only one; `NONE` for a process that uses several.
fn only_devices(trace: &Trace) -> FxHashMap<ProcessId, DeviceId> {
    let mut only = FxHashMap::default();
    for stream in trace.ops.stream.iter().copied() {
        let device = trace.device_of_stream(stream);
        let known = only.entry(trace.process_of_stream(stream)).or_insert(device);
        if *known != device {
            *known = DeviceId::NONE;
        }
    }
    only
}

pub(crate) fn overheads(trace: &Trace) -> Vec<RangeId> {
    let ranges = &trace.ranges;
    let mut found: Vec<_> =
        ranges.ids().filter(|range| ranges.kind[range.index()] == RangeKind::Overhead).collect();
    found.sort_by_key(|range| ranges.start[range.index()]);
    found
}

/// The times that each thread spent in the operating system's lock functions, ns, by start.
pub(crate) fn lock_calls(trace: &Trace, order: &[CallId]) -> Vec<Vec<(Ns, Ns)>> {
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
