//! Whether a trace's host and GPU times are on one clock.

use trace::{Clock, Ns, Trace};

const SECOND: Ns = 1_000_000_000;

/// Compares the starts of GPU operations with those of the calls that asked for them, which must be earlier, but not
/// much. If the clocks do not fit, holdup makes no statement across host and GPU: the trace is marked and gets a note.
/// All its GPU times are moved together so that the first operation starts with the first call, which keeps listings
/// readable.
///
/// Called after a trace is joined and before its times are rebased.
pub(crate) fn check(trace: &mut Trace) {
    let delay = |at: usize| {
        trace.ops.call[at].some().map(|call| trace.ops.start[at] - trace.calls.start[call.index()])
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Call, Op};

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
}
