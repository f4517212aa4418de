//! First uses of libraries: what of a pause moves with them.

use crate::support::add_process;
use replay::{Fit, Predictor, recover};
use trace::*;

const MS: Ns = 1_000_000;

/// A launch, then a pause of which samples show a line each, then a call with its line; then launches for 100 ms.
fn trace_of(pause: Ns, lines: &[u32], call: &str, call_line: u32) -> Trace {
    trace_of_calls(&[(pause, lines, call, call_line)])
}

/// The same of several such calls.
fn trace_of_calls(calls: &[(Ns, &[u32], &str, u32)]) -> Trace {
    let mut trace = Trace::default();
    let (thread, stream) = add_process(&mut trace, 1);
    let [file, function] = ["train.py", "main"].map(|text| trace.strings.intern(text));
    let stack_at = |trace: &mut Trace, line: u32| {
        let frame = trace.frames.push(Frame { file, line, function, ..Frame::default() });
        trace.stacks.push(Stack { frame, ..Stack::default() })
    };
    let launch = trace.strings.intern("cudaLaunchKernel");
    let mut correlation = 0;
    let mut launch_at = |trace: &mut Trace, start: Ns| {
        correlation += 1;
        let call = Call { start, end: start + 5_000, thread, name: launch, correlation, ..Call::default() };
        trace.calls.push(call);
        let op = Op { start: start + 8_000, end: start + MS, stream, correlation, ..Op::default() };
        trace.ops.push(Op { kind: OpKind::Kernel, grid_x: 64, block_x: 64, ..op });
    };
    launch_at(&mut trace, 0);
    let mut now = 5_000;
    for (pause, lines, call, call_line) in calls {
        for (at, line) in (1..).zip(*lines) {
            let stack = stack_at(&mut trace, *line);
            let at = now + at * pause / (lines.len() as Ns + 1);
            trace.samples.push(Sample { at, thread, stack, ..Sample::default() });
        }
        let (start, end) = (now + pause, now + pause + 1_000);
        let (name, stack) = (trace.strings.intern(call), stack_at(&mut trace, *call_line));
        trace.calls.push(Call { start, end, thread, name, stack, ..Call::default() });
        now = end;
    }
    (1..100).for_each(|at| launch_at(&mut trace, now + at * MS));
    trace.join();
    trace
}

/// How much earlier the last operation ends after the first one, ns: what moves comes before all.
fn moved(trace: &Trace) -> Ns {
    let base = recover(trace).unwrap();
    let fit = Fit::of(trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(trace, &base, &fit, &|_| {}).unwrap();
    let Some(after) = predictor.trace(&replay::fixes("warm-up").unwrap()).unwrap() else { return 0 };
    let span = |trace: &Trace| trace.ops.end.iter().max().unwrap() - trace.ops.end.iter().min().unwrap();
    span(trace) - span(&after)
}

#[test]
fn a_pause_moves_in_which_the_line_loads_a_library() {
    assert_eq!(moved(&trace_of(50 * MS, &[7, 7, 7, 9], "cuLibraryLoadData", 7)), 50 * MS);
    assert_eq!(moved(&trace_of(50 * MS, &[7, 7, 7, 7], "cuInit", 7)), 50 * MS);
}

#[test]
fn another_line_or_another_call_is_no_first_use() {
    // The data loader's line, then the model's.
    assert_eq!(moved(&trace_of(50 * MS, &[9, 9, 9, 7], "cuLibraryLoadData", 7)), 0);
    assert_eq!(moved(&trace_of(50 * MS, &[7, 7, 7, 7], "cudaLaunchKernel", 7)), 0);
    assert_eq!(moved(&trace_of(50 * MS, &[], "cuLibraryLoadData", 7)), 0);
}

#[test]
fn a_short_pause_stays() {
    assert_eq!(moved(&trace_of(MS / 2, &[7, 7, 7], "cuLibraryLoadData", 7)), 0);
}

const LOAD: &str = "cuLibraryLoadData";

#[test]
fn short_pauses_between_loads_of_a_line_move() {
    let calls: [(Ns, &[u32], &str, u32); 4] = [
        (MS / 2, &[], LOAD, 7),
        (5 * MS, &[7], LOAD, 7),
        (5 * MS, &[], "cuMemAlloc_v2", 7),
        (MS / 2, &[], LOAD, 7),
    ];
    assert_eq!(moved(&trace_of_calls(&calls)), 5 * MS + 5 * MS + MS / 2);
}

#[test]
fn pauses_between_loads_stay_if_the_line_does_something_else() {
    // A loop that loads something in each round, and computes in other lines meanwhile.
    let round: (Ns, &[u32], &str, u32) = (5 * MS, &[9], LOAD, 7);
    let without: (Ns, &[u32], &str, u32) = (5 * MS, &[], LOAD, 7);
    assert_eq!(moved(&trace_of_calls(&[round, round, without, round])), 0);
    // Nothing shows what happened.
    assert_eq!(moved(&trace_of_calls(&[without, without])), 0);
    // Another line loads.
    let there: (Ns, &[u32], &str, u32) = (5 * MS, &[7], "cuMemAlloc_v2", 7);
    assert_eq!(moved(&trace_of_calls(&[(MS / 2, &[], LOAD, 7), there, (MS / 2, &[], LOAD, 8)])), 0);
}
