//! The indexes behind [`Facts`](crate::facts::Facts), each built in one pass over a table.

use rustc_hash::FxHashMap;
use trace::{
    Api, ArgumentId, CallId, DeviceId, Ns, OpId, OpKind, ProcessId, RangeId, RangeKind, State, Sym, SyncId,
    ThreadId, Times, Trace, WaitId,
};

/// Rows of a table by the outermost call they belong to, in the table's order.
pub(crate) struct ByCall<T>(Vec<(CallId, T)>);

impl<T: Copy + Ord> ByCall<T> {
    fn new(rows: impl Iterator<Item = (CallId, T)>) -> ByCall<T> {
        let mut rows: Vec<_> = rows.filter(|(call, _)| call.is_some()).collect();
        if !rows.is_sorted() {
            rows.sort_unstable();
        }
        ByCall(rows)
    }

    pub(crate) fn of(&self, call: CallId) -> impl Iterator<Item = T> + Clone + '_ {
        let from = self.0.partition_point(|(other, _)| *other < call);
        self.0[from..].iter().take_while(move |(other, _)| *other == call).map(|(_, row)| *row)
    }

    /// The calls that have rows.
    pub(crate) fn calls(&self) -> impl Iterator<Item = CallId> + '_ {
        self.0.chunk_by(|a, b| a.0 == b.0).map(|rows| rows[0].0)
    }
}

/// Sorts rows of a table, in its order so far, by times of the table: as `sort_by_key`, but times beside the rows are cheaper to compare
/// than times in the table, which are far from each other.
pub(crate) fn sort_by_times<Row: Copy + Ord, Times: Ord>(rows: &mut [Row], times: impl Fn(Row) -> Times) {
    if rows.is_sorted_by_key(|row| times(*row)) {
        return;
    }
    let mut keys: Vec<(Times, Row)> = rows.iter().map(|row| (times(*row), *row)).collect();
    // Tables have long sorted runs, which a stable sort merges.
    keys.sort();
    rows.iter_mut().zip(keys).for_each(|(row, (_, sorted))| *row = sorted);
}

/// Like [`sort_by_times`], but for rows of which those of a group, below `groups`, are mostly in order: where threads' rows alternate
/// in a table, it has no long runs.
fn sort_groups_by_times<Row: Copy + Ord, Times: Ord>(
    rows: &mut [Row],
    groups: usize,
    group: impl Fn(Row) -> usize,
    times: impl Fn(Row) -> Times,
) {
    if rows.is_sorted_by_key(|row| times(*row)) {
        return;
    }
    let mut next = vec![0; groups + 1];
    rows.iter().for_each(|row| next[group(*row) + 1] += 1);
    (0..groups).for_each(|at| next[at + 1] += next[at]);
    let mut grouped = rows.to_vec();
    for row in rows.iter() {
        let at = &mut next[group(*row)];
        grouped[*at] = *row;
        *at += 1;
    }
    sort_by_times(&mut grouped, times);
    rows.copy_from_slice(&grouped);
}

/// Like [`sort_by_times`], but for operations: those that one thread issued into one stream are mostly in order.
pub(crate) fn sort_ops_by_times<Times: Ord>(trace: &Trace, ops: &mut [OpId], times: impl Fn(OpId) -> Times) {
    let (threads, streams) = (trace.threads.len() + 1, trace.streams.len() + 1);
    let thread = |op: OpId| {
        let call = trace.ops.call[op.index()].some();
        call.and_then(|call| trace.calls.thread[call.index()].some()).map_or(0, |thread| thread.index() + 1)
    };
    let stream = |op: OpId| trace.ops.stream[op.index()].some().map_or(0, |stream| stream.index() + 1);
    let both = threads.saturating_mul(streams);
    match both <= MOST_GROUPS.max(ops.len() / 16) {
        true => sort_groups_by_times(ops, both, |op| thread(op) * streams + stream(op), times),
        false => sort_by_times(ops, times),
    }
}

/// So many groups take no time to count in any case.
const MOST_GROUPS: usize = 1024;

/// How the calls of a trace follow and contain each other.
pub(crate) struct CallOrder {
    /// All calls of threads, by start, outer before inner.
    pub by_start: Vec<CallId>,
    /// The outermost CUDA call that each call is made in; see [`trace::outermost_calls`].
    pub outer: Vec<CallId>,
}

impl CallOrder {
    pub fn new(trace: &Trace) -> CallOrder {
        let by_start = calls_by_start(trace);
        CallOrder { outer: trace::outermost_calls(trace, by_start.iter().copied()), by_start }
    }
}

fn calls_by_start(trace: &Trace) -> Vec<CallId> {
    let calls = &trace.calls;
    let mut order: Vec<_> = calls.ids().filter(|call| calls.thread[call.index()].is_some()).collect();
    // An outer call comes before the ones within it.
    let thread = |call: CallId| calls.thread[call.index()].index();
    let times = |call: CallId| (calls.start[call.index()], -calls.end[call.index()]);
    sort_groups_by_times(&mut order, trace.threads.len(), thread, times);
    order
}

/// The arguments of each outermost call and of the calls within it.
pub(crate) fn arguments_by_call(trace: &Trace, outer: &[CallId]) -> ByCall<ArgumentId> {
    let arguments = &trace.arguments;
    let caller = |row: ArgumentId| arguments.call[row.index()].some().map(|call| (outer[call.index()], row));
    ByCall::new(arguments.ids().filter_map(caller))
}

/// Synchronizations by the outermost call that waited.
pub(crate) fn syncs_by_call(trace: &Trace, outer: &[CallId]) -> ByCall<SyncId> {
    let syncs = &trace.syncs;
    let caller = |sync: SyncId| syncs.call[sync.index()].some().map(|call| (outer[call.index()], sync));
    ByCall::new(syncs.ids().filter_map(caller))
}

/// The waits for CUDA's locks, and those of the libraries above it. Waits for the program's own locks and for an
/// interpreter's have no rule.
pub(crate) fn lock_waits(trace: &Trace) -> impl Iterator<Item = WaitId> {
    let waits = &trace.waits;
    waits.ids().filter(|wait| waits.layer[wait.index()].is_cuda())
}

/// Lock waits by the outermost call that contains them, as recorded, else by their times; and those that touch no call of
/// their thread.
pub(crate) fn waits_by_call(trace: &Trace, order: &CallOrder) -> (ByCall<WaitId>, Vec<WaitId>) {
    let (calls, waits) = (&trace.calls, &trace.waits);
    let mut by_thread = Vec::new();
    if waits.call.contains(&CallId::NONE) {
        by_thread = outermost_by_thread(trace, order);
    }
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for wait in lock_waits(trace) {
        let at = wait.index();
        let (start, end) = (waits.start[at], waits.end[at]);
        if let Some(call) = waits.call[at].some() {
            inside.push((order.outer[call.index()], wait));
        } else if let Some(thread) = waits.thread[at].some() {
            let own: &[CallId] = &by_thread[thread.index()];
            let begun = own.partition_point(|call| calls.start[call.index()] < end);
            let last = own[..begun].last().copied();
            let over = last.map_or(Ns::MIN, |call| calls.end[call.index()]);
            match last {
                _ if over <= start => outside.push(wait),
                Some(call) if calls.start[call.index()] <= start && end <= over => {
                    inside.push((call, wait));
                }
                // A wait across the start or the end of a call is impossible: it counts as neither.
                _ => {}
            }
        }
    }
    (ByCall::new(inside.into_iter()), outside)
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

/// The outermost CUDA calls of each thread, by start.
pub(crate) fn outermost_by_thread(trace: &Trace, order: &CallOrder) -> Vec<Vec<CallId>> {
    let mut by_thread = vec![Vec::new(); trace.threads.len()];
    for call in order.by_start.iter().filter(|call| order.outer[call.index()] == **call) {
        by_thread[trace.calls.thread[call.index()].index()].push(*call);
    }
    by_thread
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

/// The times at which each thread was in a range that a framework or an interpreter marked.
pub(crate) fn marked_by_thread(trace: &Trace) -> Vec<Times> {
    let (ranges, mut by_thread) = (&trace.ranges, vec![Vec::new(); trace.threads.len()]);
    for at in 0..ranges.len() {
        let is_work = matches!(ranges.kind[at], RangeKind::Operator | RangeKind::Python);
        if let Some(thread) = ranges.thread[at].some().filter(|_| is_work) {
            by_thread[thread.index()].push((ranges.start[at], ranges.end[at]));
        }
    }
    by_thread.into_iter().map(Times::of).collect()
}

/// Operations by the outermost call that issued them.
pub(crate) fn ops_by_call(trace: &Trace, outer: &[CallId]) -> (Vec<u32>, Vec<OpId>) {
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

pub(crate) fn ops_by_stream(trace: &Trace) -> Vec<Vec<OpId>> {
    let mut streams = vec![Vec::new(); trace.streams.len()];
    for op in trace.ops.ids() {
        if let Some(stream) = trace.ops.stream[op.index()].some() {
            streams[stream.index()].push(op);
        }
    }
    streams.iter_mut().for_each(|ops| sort_ops_by_times(trace, ops, |op| trace.ops.start[op.index()]));
    streams
}

/// The number of the issuing call for each operation of each stream, by start: all operations of a graph are one call's.
pub(crate) fn calls_of_streams(trace: &Trace, outer: &[CallId], streams: &[Vec<OpId>]) -> Vec<Vec<u32>> {
    let caller = |op: OpId| trace.ops.call[op.index()].some().map(|call| outer[call.index()]);
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
    outer: &[CallId],
    first: &FxHashMap<(ProcessId, Sym), CallId>,
) -> FxHashMap<(ProcessId, Sym), Later> {
    let calls = &trace.calls;
    let mut later = FxHashMap::<_, Later>::default();
    for call in calls.ids().filter(|call| outer[call.index()] == *call) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_rows_are_sorted_as_all_rows_are() {
        // Two groups in turn, the second one behind; equal times remain in the table's order.
        let times: Vec<Ns> = (0..64).map(|row| if row % 2 == 0 { row } else { row / 3 * 2 }).collect();
        let mut rows: Vec<usize> = (0..times.len()).collect();
        let mut expected = rows.clone();
        expected.sort_by_key(|row| times[*row]);
        sort_groups_by_times(&mut rows, 2, |row| row % 2, |row| times[row]);
        assert_eq!(rows, expected);
    }
}
