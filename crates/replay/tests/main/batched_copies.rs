//! Small copies that become one.

use crate::support::add_process;
use replay::{Fit, Predictor, fixes, recover};
use trace::*;

const ROUNDS: Ns = 20;
const PIECES: Ns = 10;

/// A thread copies pieces of so many bytes, 6 µs apart, and launches a kernel after each `kernel_after` of them, again and again. The gain,
/// in percent, and the number of calls that change in each round.
fn gain(bytes: i64, kernel_after: Ns) -> (i64, usize) {
    let mut trace = Trace::default();
    let (thread, stream) = add_process(&mut trace, 1);
    let [launch, copy] = ["cudaLaunchKernel", "cudaMemcpyAsync"].map(|name| trace.strings.intern(name));
    let mut start = 0;
    for at in 0..ROUNDS * PIECES {
        let mut issue = |name, kind: Op, ns: Ns| {
            let correlation = trace.calls.len() as i64 + 1;
            trace.calls.push(Call {
                start,
                end: start + 4_000,
                name,
                correlation,
                thread,
                ..Call::default()
            });
            trace.ops.push(Op { start: start + 4_500, end: start + 4_500 + ns, correlation, stream, ..kind });
            start += 6_000;
        };
        let copied =
            Op { kind: OpKind::Copy, copy: CopyKind::HtoD, src: MemoryKind::Pinned, bytes, ..Op::default() };
        issue(copy, copied, 1_000);
        if (at + 1) % kernel_after == 0 {
            issue(launch, Op { kind: OpKind::Kernel, grid_x: 64, block_x: 64, ..Op::default() }, 1_000);
        }
    }
    trace.join();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let changes = fixes("batched-copies").unwrap();
    let Some(predicted) = predictor.predict(&changes).unwrap() else { return (0, 0) };
    ((predicted.gain.share * 100.0).round() as i64, predicted.changes / ROUNDS as usize)
}

#[test]
fn pieces_before_a_kernel_are_copied_together() {
    // Of 11 calls two are left.
    let (gain, changes) = gain(1_000, PIECES);
    assert!((78..=83).contains(&gain) && changes == 10, "{gain} {changes}");
}

#[test]
fn larger_copies_stay() {
    assert_eq!(gain(1 << 20, PIECES), (0, 0));
}

#[test]
fn copies_between_kernels_stay() {
    assert_eq!(gain(1_000, 2), (0, 0));
}
