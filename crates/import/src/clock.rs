//! Whether a trace's host and GPU times are on one clock.

use rustc_hash::FxHashMap;
use trace::{Clock, GpuClock, Ns, StreamId, SyncKind, Trace};

const SECOND: Ns = 1_000_000_000;

/// Compares the starts of GPU operations with those of the calls that asked for them, which must be earlier, but not
/// much. If the clocks do not fit, holdup makes no statement across host and GPU: the trace is marked and gets a note.
/// All its GPU times are moved together so that the first operation starts with the first call, which keeps listings
/// readable.
///
/// Called after a trace is joined and before its times are rebased.
pub(crate) fn check(trace: &mut Trace) {
    let delay =
        |at: usize| trace.ops.call[at].some().map(|call| trace.ops.start[at] - trace.calls.start[call]);
    let mut delays: Vec<Ns> = (0..trace.ops.len()).filter_map(delay).collect();
    if delays.is_empty() {
        return;
    }
    let early = delays.iter().filter(|&&delay| delay < 0).count();
    let middle = delays.len() / 2;
    let (_, &mut median, _) = delays.select_nth_unstable(middle);
    if (-SECOND..=600 * SECOND).contains(&median) && early <= delays.len() / 2 {
        return;
    }
    trace.meta.clock = Clock::Separate;
    trace.meta.notes.push(format!(
        "Host and GPU times are on different clocks: the median GPU operation starts {}; GPU times were moved so that the first operation starts with the first call.",
        apart(median),
    ));
    let (first_op, first_call) = (trace.ops.start.iter().min(), trace.calls.start.iter().min());
    if let (Some(&first_op), Some(&first_call)) = (first_op, first_call) {
        let times = trace.ops.start.iter_mut().chain(&mut trace.ops.end);
        times.for_each(|time| *time = *time - first_op + first_call);
    }
}

fn apart(median: Ns) -> String {
    let side = if median < 0 { "before" } else { "after" };
    let distance = median.unsigned_abs();
    let hour = 3600 * SECOND.unsigned_abs();
    match distance {
        _ if distance >= hour => format!("{:.1} h {side} its call", distance as f64 / hour as f64),
        _ => format!("{:.6} s {side} its call", distance as f64 / SECOND as f64),
    }
}

/// How far GPU times can be from the host's, by what must come first: a call begins before the work that it issues, and a
/// synchronization ends after the work that it waits for. `None` where the two clocks do not fit, or no second shows both
/// sides.
///
/// Called when the operations of all calls are known.
pub(crate) fn bounds(trace: &Trace) -> Option<GpuClock> {
    if trace.meta.clock != Clock::Aligned {
        return None;
    }
    let mut seconds = FxHashMap::<Ns, Second>::default();
    for (at, call) in trace.ops.call.iter().enumerate().filter_map(|(at, call)| Some((at, call.some()?))) {
        let start = trace.ops.start[at];
        let late = start - trace.calls.start[call];
        let second = seconds.entry(start / SECOND).or_default();
        second.late = second.late.min(late);
    }
    let issued = StreamHistory::new(trace);
    // Those of events wait for less, and some for nothing on the host.
    let of_streams = (0..trace.syncs.len()).filter(|at| trace.syncs.kind[*at] == SyncKind::Stream);
    for at in of_streams {
        let (start, end) = (trace.syncs.start[at], trace.syncs.end[at]);
        if let Some(last) = issued.last_before(trace.syncs.stream[at], start) {
            let second = seconds.entry(end / SECOND).or_default();
            second.early = second.early.min(end - last);
        }
    }
    let both: Vec<Second> =
        seconds.into_values().filter(|second| second.early.max(second.late) < Ns::MAX).collect();
    let median = |of: fn(&Second) -> Ns| {
        let mut values: Vec<Ns> = both.iter().map(of).collect();
        let middle = values.len() / 2;
        (!values.is_empty()).then(|| (*values.select_nth_unstable(middle).1).max(0))
    };
    let wrong = both.iter().map(|second| -second.early.min(second.late)).max()?.max(0);
    Some(GpuClock { early: median(|second| second.early)?, late: median(|second| second.late)?, wrong })
}

/// At most so early and so late the GPU's times are in a second.
#[derive(Clone, Copy)]
struct Second {
    early: Ns,
    late: Ns,
}

impl Default for Second {
    fn default() -> Second {
        Second { early: Ns::MAX, late: Ns::MAX }
    }
}

/// By stream, in the order of its operations: when the call of the last one returned, and when all had ended.
struct StreamHistory(FxHashMap<StreamId, Vec<(Ns, Ns)>>);

impl StreamHistory {
    fn new(trace: &Trace) -> StreamHistory {
        let mut issued = FxHashMap::<StreamId, Vec<(Ns, Ns)>>::default();
        for at in 0..trace.ops.len() {
            let Some(call) = trace.ops.call[at].some() else { continue };
            let (returned, ended) = (trace.calls.end[call], trace.ops.end[at]);
            let of_stream = issued.entry(trace.ops.stream[at]).or_default();
            let (before, last) = of_stream.last().copied().unwrap_or((Ns::MIN, Ns::MIN));
            of_stream.push((returned.max(before), ended.max(last)));
        }
        StreamHistory(issued)
    }

    /// When the work in a stream had ended whose calls had returned at a time.
    fn last_before(&self, stream: StreamId, time: Ns) -> Option<Ns> {
        let of_stream = self.0.get(&stream)?;
        let count = of_stream.partition_point(|(returned, _)| *returned <= time);
        Some(of_stream.get(count.checked_sub(1)?)?.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Call, Op, Sync};

    fn trace(delays: &[Ns]) -> Trace {
        let mut trace = Trace::default();
        for (at, delay) in delays.iter().enumerate() {
            let start = 5_000 + at as Ns * 100;
            let call = trace.calls.push(Call { start, end: start + 10, ..Call::default() });
            let start = start + delay;
            trace.ops.push(Op { start, end: start + 50, call, ..Op::default() });
        }
        check(&mut trace);
        trace
    }

    #[test]
    fn ops_after_their_calls_share_a_clock() {
        assert_eq!(trace(&[]).meta.clock, Clock::Aligned);
        assert_eq!(trace(&[1, 20, 400 * SECOND]).meta.clock, Clock::Aligned);
        assert_eq!(trace(&[-1, 20, 30]).meta.clock, Clock::Aligned);
    }

    #[test]
    fn hours_apart_or_mostly_before_their_calls_they_do_not() {
        for delays in [[-7200 * SECOND; 3], [601 * SECOND; 3], [-5, -5, 20]] {
            let trace = trace(&delays);
            assert_eq!(trace.meta.clock, Clock::Separate, "{delays:?}");
            assert_eq!(trace.meta.notes.len(), 1);
            assert_eq!(trace.ops.start.iter().min(), trace.calls.start.iter().min());
            assert!(trace.ops.start.iter().zip(&trace.ops.end).all(|(start, end)| end - start == 50));
        }
        assert!(trace(&[-7200 * SECOND]).meta.notes[0].contains("2.0 h before"));
    }

    /// Launches every 100 µs whose kernels start `late` after their calls, take 50 µs, and are waited for until `early`
    /// after their ends; second by second.
    fn synchronized(seconds: &[(Ns, Ns)]) -> Trace {
        let mut trace = Trace::default();
        for (second, (early, late)) in seconds.iter().enumerate() {
            for at in 0..100 {
                let start = second as Ns * SECOND + at * 100_000;
                let call = trace.calls.push(Call { start, end: start + 3_000, ..Call::default() });
                let (begun, ended) = (start + late, start + late + 50_000);
                trace.ops.push(Op { start: begun, end: ended, call, ..Op::default() });
                let wait = Sync { kind: SyncKind::Stream, ..Sync::default() };
                trace.syncs.push(Sync { start: start + 3_000, end: ended + early, ..wait });
                // What is issued after a wait began is not waited for; and another stream waits, not the host.
                trace.syncs.push(Sync { start: start - 50_000, end: start, ..wait });
                let other = Sync { kind: SyncKind::StreamWaitEvent, ..wait };
                trace.syncs.push(Sync { start: start + 3_000, end: start + 3_001, ..other });
            }
        }
        trace
    }

    #[test]
    fn what_comes_first_bounds_how_far_times_are_off() {
        let of = |seconds: &[(Ns, Ns)]| bounds(&synchronized(seconds));
        let clock = GpuClock { early: 4_000, late: 2_000, wrong: 0 };
        assert_eq!(of(&[(4_000, 2_000)]), Some(clock));
        assert_eq!(of(&[(4_000, 2_000), (9_000, 500), (3_000, 8_000)]), Some(clock));
        // A kernel that starts before its call, and one that ends after the wait for it: one clock is wrong.
        assert_eq!(of(&[(9_000, -1_500)]), Some(GpuClock { early: 9_000, late: 0, wrong: 1_500 }));
        assert_eq!(of(&[(-700, 2_000), (4_000, 2_000)]).map(|clock| clock.wrong), Some(700));
    }

    #[test]
    fn without_both_sides_nothing_is_known() {
        assert_eq!(bounds(&trace(&[1, 20])), None);
        let mut separate = synchronized(&[(4_000, 2_000)]);
        separate.meta.clock = Clock::Separate;
        assert_eq!(bounds(&separate), None);
    }
}
