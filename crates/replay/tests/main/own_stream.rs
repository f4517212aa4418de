//! Threads that launch into one stream get their own.

use crate::support::{add_beside, add_process};
use replay::{Fit, Predictor, fixes, recover};
use trace::*;

const ROUNDS: Ns = 200;

/// The gain of own streams, as a part of the time: two threads launch a kernel of 2 µs every 20 µs into the same stream, the second one so
/// long after the first one.
fn gain(later: Ns, tracer: &str) -> f64 {
    let mut trace = Trace::default();
    trace.meta.source_version = tracer.to_owned();
    let (first, stream) = add_process(&mut trace, 1);
    let (second, _) = add_beside(&mut trace, first, stream);
    let name = trace.strings.intern("cudaLaunchKernel");
    for (thread, from) in [(first, 0), (second, later)] {
        for start in (0..ROUNDS).map(|round| from + 20_000 * round) {
            let correlation = trace.calls.len() as i64 + 1;
            trace.calls.push(Call {
                start,
                end: start + 4_000,
                thread,
                name,
                correlation,
                ..Call::default()
            });
            let (start, end) = (start + 5_000, start + 7_000);
            trace.ops.push(Op { kind: OpKind::Kernel, start, end, stream, correlation, ..Op::default() });
        }
    }
    trace.join();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    assert!(fit.fits, "{fit:?}");
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    predictor.gain(&fixes("own-stream").unwrap()).unwrap().map_or(0.0, |(gain, _)| gain.share)
}

#[test]
fn launches_after_those_of_another_thread_take_less() {
    // 900 ns of 20 µs, less 1.2 µs for CUPTI's part of a launch.
    let gain = gain(10_000, "CUPTI 2025.3.1");
    assert!((0.045..0.050).contains(&gain), "{gain}");
}

#[test]
fn launches_after_own_ones_take_as_long() {
    let gain = gain(20_000 * ROUNDS, "CUPTI 2025.3.1");
    assert!(gain.abs() < 0.001, "{gain}");
}

#[test]
fn the_simulator_has_no_such_cost() {
    let gain = gain(10_000, "");
    assert!(gain.abs() < 0.001, "{gain}");
}
