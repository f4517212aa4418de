//! The program's own code made faster, line by line, and findings of it removed.

use crate::support::add_process;
use explain::{Cause, Options, explain_each};
use replay::{Change, Faster, Fit, Predictor, Removed, recover};
use trace::*;

const MS: Ns = 1_000_000;
const PAUSE: Ns = 4 * MS;

/// A thread launches 100 kernels, 4 ms apart. Of each pause the first three quarters are at line 7 of `train.py`, called from line 3,
/// then it is at line 9; every pause has one sample, at another depth. It runs all the time, or sleeps at line 7.
fn trace(sleeps: bool) -> Trace {
    let mut trace = Trace::default();
    let (thread, stream) = add_process(&mut trace, 1);
    let [file, function] = ["/app/train.py", "main"].map(|text| trace.strings.intern(text));
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
        let is_first = depth < 74;
        let (stack, asleep) = (if is_first { computes } else { prepares }, is_first && sleeps);
        let state = if asleep { ThreadState::Blocked } else { ThreadState::Running };
        trace.samples.push(Sample { at: start + 5_000 + depth * PAUSE / 99, thread, stack, state });
        let (end, state) = (start + 5_000 + PAUSE, ThreadState::Running);
        let running = 5_000 + if sleeps { PAUSE / 4 } else { PAUSE };
        trace.states.push(State { start, end, thread, running, state, ..State::default() });
    }
    trace.join();
    trace
}

/// The gain of changes, of the pauses' time.
fn gain_of(trace: &Trace, changes: &[Change<'_>]) -> Option<f64> {
    let base = recover(trace).unwrap();
    let fit = Fit::of(trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(trace, &base, &fit, &|_| {}).unwrap();
    let predicted = predictor.predict(changes).unwrap()?;
    Some((predicted.before_ns - predicted.predicted_ns) as f64 / (99 * PAUSE) as f64)
}

/// The gain if these lines took so much less.
fn gain(faster: &[&str]) -> Option<f64> {
    let faster: Vec<Faster> = faster.iter().map(|text| text.parse().unwrap()).collect();
    let changes: Vec<Change<'_>> = faster.iter().map(Change::Faster).collect();
    gain_of(&trace(false), &changes)
}

/// The gain without the finding of a cause at a line.
fn gain_without(trace: &Trace, cause: Cause, line: u32) -> f64 {
    let (explanation, losses) = explain_each(trace, &Options::default());
    let is_it = |finding: &&explain::Finding| finding.cause == cause && finding.places[0].line == line;
    let finding = explanation.findings.iter().find(is_it).expect("a finding");
    let removed = Removed::of(&finding.id, &explanation, &losses).unwrap();
    gain_of(trace, &[Change::Removed(&removed)]).expect("a change")
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

#[test]
fn code_that_is_gone_gains_its_part_of_the_pauses() {
    let trace = trace(false);
    for (line, part) in [(7, 0.75), (9, 0.25)] {
        let gain = gain_without(&trace, Cause::HostCode, line);
        assert!((gain - part).abs() < 0.015, "{line}: {gain} for {part}");
    }
}

#[test]
fn sleep_that_is_gone_leaves_what_the_thread_does_awake() {
    let gain = gain_without(&trace(true), Cause::Blocked, 7);
    assert!((gain - 0.75).abs() < 0.015, "{gain}");
}

/// The same, and each launch but the first comes after a call that loads a library, made at line 7.
fn builds(name: &str) -> Trace {
    let mut trace = trace(false);
    let stack = trace.samples.stack[0];
    let name = trace.strings.intern(name);
    for launch in 1..trace.calls.len() {
        let start = trace.calls.start[launch] - 2_000;
        let thread = trace.calls.thread[launch];
        trace.calls.push(Call { start, end: start + 1_000, thread, name, stack, ..Call::default() });
    }
    trace.join();
    trace
}

#[test]
fn kernels_that_need_no_build_gain_the_pauses_before_they_are_loaded() {
    let gain = gain_without(&builds("cuLibraryLoadData"), Cause::KernelBuild, 7);
    assert!((gain - 1.0).abs() < 0.015, "{gain}");
    let gain = gain_without(&builds("cudaGetDevice"), Cause::HostCode, 7);
    assert!((gain - 0.75).abs() < 0.015, "{gain}");
}
