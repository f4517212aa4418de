//! Threads that were ready without a processor.

use crate::support::add_process;
use replay::{Fit, Predictor, fixes, recover};
use trace::*;

const MS: Ns = 1_000_000;
const ROUNDS: Ns = 50;

/// A thread launches a kernel of 2 ms, waits for its end, goes on `late` after that, and computes for `computes`, again and again; of each
/// round, `ready` was without a processor.
fn gain(late: Ns, computes: Ns, ready: Ns) -> Ns {
    let mut trace = Trace::default();
    let (thread, stream) = add_process(&mut trace, 1);
    let [launch, wait] = ["cudaLaunchKernel", "cudaDeviceSynchronize"].map(|name| trace.strings.intern(name));
    let round = 2 * MS + 20_000 + late + computes;
    for at in 0..ROUNDS {
        let (start, correlation) = (at * round, at + 1);
        let call = Call { start, end: start + 5_000, thread, name: launch, correlation, ..Call::default() };
        trace.calls.push(call);
        let (begins, ends) = (start + 8_000, start + 8_000 + 2 * MS);
        let op = Op { start: begins, end: ends, stream, correlation, ..Op::default() };
        trace.ops.push(Op { kind: OpKind::Kernel, grid_x: 64, block_x: 64, ..op });
        let (start, end) = (start + 6_000, ends + 2_000 + late);
        trace.calls.push(Call { start, end, name: wait, correlation: 0, ..call });
        let (start, end, state) = (at * round, (at + 1) * round, ThreadState::Running);
        let running = late + computes - ready;
        trace.states.push(State { start, end, thread, running, runnable: ready, state, ..State::default() });
    }
    trace.join();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let changes = fixes("more-cpus").unwrap();
    let predicted = predictor.predict(&changes).unwrap();
    predicted.map_or(0, |predicted| predicted.before_ns - predicted.predicted_ns)
}

fn expect(found: Ns, each: Ns) {
    let all = ROUNDS * each;
    assert!((found - all).abs() <= all / 20 + MS, "{found} for {all}");
}

#[test]
fn a_thread_that_goes_on_late_goes_on_at_once() {
    expect(gain(3 * MS, MS, 3 * MS), 3 * MS);
}

#[test]
fn a_thread_that_computes_by_turns_computes_all_the_time() {
    expect(gain(0, 4 * MS, 2 * MS), 2 * MS);
}

#[test]
fn what_is_more_than_the_waits_ends_is_taken_from_the_rest() {
    expect(gain(2 * MS, 4 * MS, 4 * MS), 4 * MS);
}

#[test]
fn with_a_processor_nothing_is_gained() {
    assert_eq!(gain(3 * MS, MS, 0), 0);
}
