//! The program's own code made faster, line by line.

use replay::{Change, Faster, Fit, Predictor, recover};
use trace::*;

const MS: Ns = 1_000_000;
const PAUSE: Ns = 4 * MS;

/// A thread launches 100 kernels, 4 ms apart. Of each pause the first three quarters are at line 7 of `train.py`, called from line 3,
/// then it is at line 9; every pause has one sample, at another depth.
fn trace() -> Trace {
    let mut trace = Trace::default();
    let device = trace.devices.push(Device { multiprocessors: 132, ..Device::default() });
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    let thread = trace.threads.push(Thread { process, tid: 1, ..Thread::default() });
    let [file, function] = ["/work/train.py", "main"].map(|text| trace.strings.intern(text));
    let mut stack_at = |line: u32, caller: StackId| {
        let frame = trace.frames.push(Frame { file, line, function, ..Frame::default() });
        trace.stacks.push(Stack { frame, caller })
    };
    let caller = stack_at(3, StackId::NONE);
    let [computes, prepares] = [stack_at(7, caller), stack_at(9, StackId::NONE)];
    let name = trace.strings.intern("cudaLaunchKernel");
    for at in 0..100 {
        let start = at * (PAUSE + 5_000);
        let correlation = at + 1;
        trace.calls.push(Call { start, end: start + 5_000, thread, name, correlation, ..Call::default() });
        let op = Op { start: start + 8_000, end: start + 10_000, stream, correlation, ..Op::default() };
        trace.ops.push(Op { kind: OpKind::Kernel, grid_x: 64, block_x: 64, ..op });
        let depth = at * 37 % 99;
        let stack = if depth < 74 { computes } else { prepares };
        trace.samples.push(Sample {
            at: start + 5_000 + depth * PAUSE / 99,
            thread,
            stack,
            ..Sample::default()
        });
    }
    trace.join();
    trace
}

/// The gain, of the pauses' time, if these lines took so much less.
fn gain(faster: &[&str]) -> Option<f64> {
    let trace = trace();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let faster: Vec<Faster> = faster.iter().map(|text| text.parse().unwrap()).collect();
    let changes: Vec<Change<'_>> = faster.iter().map(Change::Faster).collect();
    let predicted = predictor.predict(&changes).unwrap()?;
    Some((predicted.before_ns - predicted.predicted_ns) as f64 / (99 * PAUSE) as f64)
}

fn expect(faster: &[&str], part: f64) {
    let gain = gain(faster).expect("a change");
    assert!((gain - part).abs() < 0.015, "{faster:?}: {gain} for {part}");
}

#[test]
fn a_line_gains_its_part_of_the_pauses() {
    expect(&["host:train.py:7=1000x"], 0.75);
    expect(&["host:train.py:9=2x"], 0.125);
    expect(&["host:train.py:3=1000x"], 0.75);
}

#[test]
fn lines_of_the_same_pause_gain_the_sum_of_their_parts() {
    expect(&["host:train.py:7=1000x", "host:train.py:9=1000x"], 1.0);
    expect(&["host:train.py:7=2x", "host:train.py:9=2x"], 0.5);
}

#[test]
fn a_line_and_its_caller_gain_the_line_once() {
    expect(&["host:train.py:3=1000x", "host:train.py:7=1000x"], 0.75);
    expect(&["host:train.py:3=2x", "host:train.py:7=2x"], 0.5625);
}

#[test]
fn a_line_without_samples_changes_nothing() {
    assert_eq!(gain(&["host:train.py:7=2x", "host:train.py:8=2x"]), None);
}
