//! Threads that poll the device keep processors from others.

use crate::support::{add_beside, add_process};
use replay::{Change, Faster, Fit, Predictor, recover};
use trace::*;

const MS: Ns = 1_000_000;
const ROUNDS: Ns = 50;

/// Two threads. One launches kernels of 2 ms and polls for the end of each; the other one computes for 4 ms before each of its short
/// kernels, and was ready without a processor for `ready` percent of that, as the first one was. Returns the gain if the long kernels took
/// hardly any time, as a part of the time.
fn gain(processors: u32, ready: Ns) -> f64 {
    let mut trace = Trace::default();
    let (polls, first) = add_process(&mut trace, 1);
    let (computes, second) = add_beside(&mut trace, polls, first);
    let [launch, wait] = ["cudaLaunchKernel", "cudaStreamSynchronize"].map(|name| trace.strings.intern(name));
    let [long, short] = ["long", "short"].map(|name| trace.strings.intern(name));
    let mut launches = |(thread, stream): (ThreadId, StreamId), name: Sym, start: Ns, ns: Ns| {
        let correlation = trace.calls.len() as i64 + 1;
        let call = Call { start, end: start + 5_000, thread, name: launch, correlation, ..Call::default() };
        trace.calls.push(call);
        let (kind, start) = (OpKind::Kernel, start + 8_000);
        let (end, grid_x, block_x) = (start + ns, 64, 64);
        trace.ops.push(Op { kind, name, start, end, stream, correlation, grid_x, block_x, ..Op::default() });
        end
    };
    let mut polled = Vec::new();
    for start in (0..2 * ROUNDS).map(|at| at * 2 * MS) {
        polled.push((start + 6_000, launches((polls, first), long, start, 2 * MS - 20_000) + 2_000));
    }
    for start in (1..=ROUNDS).map(|at| at * 4 * MS) {
        launches((computes, second), short, start - 5_000, 2_000);
    }
    for (start, end) in polled {
        trace.calls.push(Call { start, end, thread: polls, name: wait, ..Call::default() });
    }
    let process = trace.threads.process[polls.index()];
    for start in (0..ROUNDS).map(|at| at * 4 * MS) {
        let (end, state) = (start + 4 * MS, ThreadState::Running);
        let runnable = 4 * MS * ready / 100;
        let interval = State { start, end, running: 4 * MS - runnable, runnable, state, ..State::default() };
        trace.states.push(State { thread: polls, ..interval });
        trace.states.push(State { thread: computes, ..interval });
        trace.limits.push(Limit { start, end, process, processors, ..Limit::default() });
    }
    trace.join();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    assert!(fit.fits, "{fit:?}");
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let faster = "kernel:long=1000x".parse::<Faster>().unwrap();
    let (gain, _) = predictor.gain(&[Change::Faster(&faster)]).unwrap().expect("a change");
    gain.share
}

#[test]
fn without_a_thread_that_polls_another_one_has_its_processor() {
    let gain = gain(1, 50);
    assert!((0.45..0.55).contains(&gain), "{gain}");
}

#[test]
fn a_processor_for_each_thread_keeps_none_from_the_other() {
    // Somebody else's threads did.
    let gain = gain(2, 50);
    assert!(gain.abs() < 0.02, "{gain}");
}

#[test]
fn hardly_any_time_without_a_processor_stays() {
    let gain = gain(1, 4);
    assert!(gain.abs() < 0.02, "{gain}");
}
