//! Results that stay on the device.

use crate::support::add_process;
use replay::{Fit, Predictor, fixes, recover};
use trace::*;

const ROUNDS: Ns = 20;

/// A thread launches a kernel of 100 µs and copies so many bytes of its result, again and again; so long after each copy it waits for the
/// device. The number of calls that are not made any more in each round.
fn changes(bytes: i64, after: Ns) -> usize {
    let mut trace = Trace::default();
    let (thread, stream) = add_process(&mut trace, 1);
    let [launch, copy, wait] = ["cudaLaunchKernel", "cudaMemcpyAsync", "cudaDeviceSynchronize"]
        .map(|name| trace.strings.intern(name));
    for at in 0..ROUNDS {
        let start = at * 200_000;
        let call = Call { start, thread, ..Call::default() };
        let op = Op { stream, ..Op::default() };
        let mut issue = |name, (begin, end), (starts, ends), kind: Op| {
            let correlation = trace.calls.len() as i64 + 1;
            trace.calls.push(Call { start: start + begin, end: start + end, name, correlation, ..call });
            trace.ops.push(Op { start: start + starts, end: start + ends, correlation, ..kind });
        };
        issue(
            launch,
            (0, 5_000),
            (7_000, 107_000),
            Op { kind: OpKind::Kernel, grid_x: 64, block_x: 64, ..op },
        );
        let kind = Op { kind: OpKind::Copy, copy: CopyKind::DtoH, dst: MemoryKind::Pageable, bytes, ..op };
        issue(copy, (6_000, 112_000), (108_000, 110_000), kind);
        let (start, end) = (start + 112_000 + after, start + 114_000 + after);
        trace.calls.push(Call { start, end, name: wait, ..call });
    }
    trace.join();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let predicted = predictor.predict(&fixes("device-scalar").unwrap()).unwrap();
    predicted.map_or(0, |predicted| predicted.changes / ROUNDS as usize)
}

#[test]
fn neither_the_copy_nor_the_wait_right_after_it_is_made() {
    assert_eq!(changes(4, 1_000), 2);
}

#[test]
fn a_later_wait_is_not_for_the_result() {
    assert_eq!(changes(4, 20_000), 1);
}

#[test]
fn a_larger_copy_is_no_result() {
    assert_eq!(changes(1 << 16, 1_000), 0);
}
