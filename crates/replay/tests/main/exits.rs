//! The first thread of a process ends after those that ended before it in the trace.

use crate::support::add_process;
use replay::{Change, Faster, Fit, Predictor, recover};
use trace::*;

const MS: Ns = 1_000_000;

/// A main thread computes for 100 ms, launches a kernel, and calls once more 50 ms later; another thread's last call ends at `ends`. The time
/// that the program would take if the main thread computed nothing, ms; the main thread is the first one of its process if it has that
/// one's number.
fn without_computing(ends: Ns, number: i64) -> Ns {
    let mut trace = Trace::default();
    let (main, stream) = add_process(&mut trace, 1);
    trace.threads.tid[main.index()] = number;
    let process = trace.threads.process[main.index()];
    let other = trace.threads.push(Thread { process, tid: 7, ..Thread::default() });
    let mut call = |thread, name: &str, start: Ns, correlation| {
        let name = trace.strings.intern(name);
        trace.calls.push(Call { start, end: start + 5_000, thread, name, correlation, ..Call::default() });
    };
    call(main, "cudaSetDevice", 0, 1);
    call(main, "cudaLaunchKernel", 100 * MS, 2);
    call(main, "cudaStreamDestroy", 150 * MS, 3);
    call(other, "cudaSetDevice", 10_000, 4);
    call(other, "cudaSetDevice", ends - 5_000, 5);
    let op = Op { start: 100 * MS + 8_000, end: 100 * MS + 10_000, stream, correlation: 2, ..Op::default() };
    trace.ops.push(Op { kind: OpKind::Kernel, grid_x: 64, block_x: 64, ..op });
    let file = trace.strings.intern("train.py");
    let frame = trace.frames.push(Frame { file, line: 7, ..Frame::default() });
    let stack = trace.stacks.push(Stack { frame, caller: StackId::NONE });
    for at in (1..100).map(|at| at * MS) {
        trace.samples.push(Sample { at, thread: main, stack, state: ThreadState::Running });
    }
    trace.join();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let faster: Faster = "host:train.py:7=1000000x".parse().unwrap();
    let predicted = predictor.predict(&[Change::Faster(&faster)]).unwrap().expect("a change");
    (predicted.predicted_ns + MS / 2) / MS
}

#[test]
fn the_first_thread_ends_after_the_others() {
    assert_eq!(without_computing(80 * MS, 1), 130);
}

#[test]
fn a_thread_that_ended_long_before_keeps_nobody_waiting() {
    assert_eq!(without_computing(MS, 1), 51);
}

#[test]
fn another_thread_may_end_at_any_time() {
    assert_eq!(without_computing(80 * MS, 9), 80);
}
