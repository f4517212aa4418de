//! Counters: pending operations of each stream, the speed of copies, and how much of its time a process was throttled.

use super::timeline::Timeline;
use super::viewer::Points;
use std::collections::BTreeMap;
use trace::{Clock, CopyKind, DeviceId, Ns, OpKind, ProcessId, StreamId, Trace};

/// The number of pending operations of a stream. An operation is pending from the start of its call, or from its own
/// start without a call, to its end. `None` if host and GPU times cannot be compared.
pub(super) fn pending(trace: &Trace, timeline: &Timeline<'_>, stream: StreamId) -> Option<Points> {
    if trace.meta.clock != Clock::Aligned {
        return None;
    }
    let (calls, ops) = (&trace.calls, &trace.ops);
    let mut changes = Vec::new();
    for op in timeline.ops_by_stream.of_some(stream.some().map(|stream| stream.index())) {
        let asked = ops.call[op].some().map_or(ops.start[op], |call| calls.start[call.index()]);
        changes.extend([(asked.min(ops.end[op]), 1), (ops.end[op], -1)]);
    }
    let values = sums(changes).into_iter().map(|(at, count)| (at, count as f64)).collect();
    Some(Points { unit: "operations", whole: true, values })
}

/// The speed of the copies of each direction, GB/s: bytes divided by time, summed if several run at once.
pub(super) fn bandwidths(trace: &Trace) -> BTreeMap<(DeviceId, CopyKind), Points> {
    let ops = &trace.ops;
    let mut changes = BTreeMap::<_, Vec<_>>::new();
    for at in (0..ops.len()).filter(|at| ops.kind[*at] == OpKind::Copy) {
        let (start, end, bytes) = (ops.start[at], ops.end[at], ops.bytes[at]);
        if bytes > 0 && end > start {
            // Bytes per second as whole numbers, so that sums return to 0.
            let rate = i128::from(bytes) * 1_000_000_000 / i128::from(end - start);
            let of = (trace.device_of_stream(ops.stream[at]), ops.copy[at]);
            changes.entry(of).or_default().extend([(start, rate), (end, -rate)]);
        }
    }
    let points = |changes| {
        let values = sums(changes).into_iter().map(|(at, rate)| (at, rate as f64 / 1e9)).collect();
        Points { unit: "GB/s", whole: false, values }
    };
    changes.into_iter().map(|(of, changes)| (of, points(changes))).collect()
}

/// The time for which the control group of each process was throttled, ms per second; only of processes that were. It is
/// summed over processors, so that it can exceed a second.
pub(super) fn throttled(trace: &Trace) -> BTreeMap<ProcessId, Points> {
    let limits = &trace.limits;
    let mut changes = BTreeMap::<_, Vec<_>>::new();
    for at in (0..limits.len()).filter(|at| limits.process[*at].is_some()) {
        let (start, end, time) = (limits.start[at], limits.end[at], limits.throttled[at]);
        if time > 0 && end > start {
            // Microseconds per second as whole numbers, so that sums return to 0.
            let rate = i128::from(time) * 1_000_000 / i128::from(end - start);
            changes.entry(limits.process[at]).or_default().extend([(start, rate), (end, -rate)]);
        }
    }
    let points = |changes| {
        let values = sums(changes).into_iter().map(|(at, rate)| (at, rate as f64 / 1e3)).collect();
        Points { unit: "ms per s", whole: false, values }
    };
    changes.into_iter().map(|(of, changes)| (of, points(changes))).collect()
}

/// The sum after all changes at each time.
fn sums(mut changes: Vec<(Ns, i128)>) -> Vec<(Ns, i128)> {
    changes.sort_unstable_by_key(|(at, _)| *at);
    let mut sum = 0;
    let at_once = changes.chunk_by(|a, b| a.0 == b.0);
    let after = at_once.map(|changes| {
        sum += changes.iter().map(|(_, change)| change).sum::<i128>();
        (changes[0].0, sum)
    });
    after.collect()
}

#[cfg(test)]
mod tests {
    use super::sums;

    #[test]
    fn changes_of_one_time_are_one_value() {
        assert_eq!(sums(vec![(5, 1), (1, 1), (5, -1), (9, -1)]), [(1, 1), (5, 1), (9, 0)]);
    }
}
