//! Ranks that wait for each other in collectives.

use crate::support::add_process;
use replay::{Change, Faster, Fit, Predictor, recover};
use trace::*;

const MS: Ns = 1_000_000;
const STEPS: Ns = 20;
/// Time of an exchange, ns.
const EXCHANGE: Ns = 200_000;

/// Two ranks that add up their gradients in each step, of which the second one computes for 3 ms before; the first one's kernel waits
/// for it. Then both ask for the result.
fn trace() -> Trace {
    let mut trace = Trace::default();
    let names = [
        "cudaLaunchKernel",
        "cudaStreamSynchronize",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)",
    ];
    let [launch, wait, reduce] = names.map(|text| trace.strings.intern(text));
    let [file, function] = ["/app/train.py", "main"].map(|text| trace.strings.intern(text));
    let frame = trace.frames.push(Frame { file, line: 7, function, ..Frame::default() });
    let stack = trace.stacks.push(Stack { frame, ..Stack::default() });
    let mut correlation = 0;
    for (rank, computes) in [(0, 0), (1, 3 * MS)] {
        let (thread, stream) = add_process(&mut trace, rank + 1);
        for step in 0..STEPS {
            let begin = step * (3 * MS + EXCHANGE + 30_000);
            let (start, end) = (begin + computes, begin + 3 * MS + 8_000 + EXCHANGE);
            correlation += 1;
            let call =
                Call { start, end: start + 5_000, thread, name: launch, correlation, ..Call::default() };
            trace.calls.push(call);
            let op = Op { start: start + 8_000, end, stream, correlation, name: reduce, ..Op::default() };
            trace.ops.push(Op { kind: OpKind::Kernel, grid_x: 4, block_x: 64, ..op });
            let call = Call { start: start + 6_000, end: end + 3_000, thread, name: wait, ..Call::default() };
            trace.calls.push(call);
            if computes > 0 {
                let state = ThreadState::Running;
                trace.samples.push(Sample { at: begin + computes / 2, thread, stack, state });
            }
        }
    }
    trace.join();
    trace
}

#[test]
fn the_ranks_that_wait_are_faster_with_the_late_one() {
    let trace = trace();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    assert!(fit.fits && fit.error < 0.001, "{}", fit.error);
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let faster: Faster = "host:train.py:7=1000x".parse().unwrap();
    let predicted = predictor.predict(&[Change::Faster(&faster)]).unwrap().expect("a change");
    let gained = predicted.before_ns - predicted.predicted_ns;
    assert!((gained - STEPS * 3 * MS).abs() < MS, "{gained} of {}", predicted.before_ns);
}
