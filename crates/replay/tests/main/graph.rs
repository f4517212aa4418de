//! Repeated launches become nodes of a graph, which follow each other as they do on a machine.

use crate::support::{add_process, fit};
use replay::{Predictor, fixes, recover};
use trace::*;

const ROUNDS: i64 = 100;
const KERNELS: i64 = 10;

/// How long the program takes with graphs, ns: each round launches kernels one by one, waits for them, and does something else for 10 µs.
/// `ns` is how long the kernel of a number takes.
fn with_graphs(ns: fn(i64) -> Ns) -> Ns {
    let mut trace = Trace::default();
    trace.meta.libraries.insert(String::from("CUPTI"), String::from("13.0"));
    let (thread, stream) = add_process(&mut trace, 1);
    trace.devices.compute_major[0] = 9;
    let [launch, wait] = ["cudaLaunchKernel", "cudaStreamSynchronize"].map(|name| trace.strings.intern(name));
    let mut now = 0;
    for number in 0..ROUNDS * KERNELS {
        let (start, end, correlation) = (now, now + 6_000, number + 1);
        trace.calls.push(Call { start, end, thread, name: launch, correlation, ..Call::default() });
        let (start, end) = (start + 7_000, start + 7_000 + ns(number));
        trace.ops.push(Op { kind: OpKind::Kernel, start, end, stream, correlation, ..Op::default() });
        now += 7_000;
        if number % KERNELS == KERNELS - 1 {
            let (start, correlation) = (now, 10_000 + number);
            now = end + 2_000;
            trace.calls.push(Call { start, end: now, thread, name: wait, correlation, ..Call::default() });
            now += 10_000;
        }
    }
    trace.join();
    let base = recover(&trace).unwrap();
    let fit = fit(&trace);
    assert!(fit.fits, "{fit:?}");
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    predictor.predict(&fixes("graph").unwrap()).unwrap().unwrap().predicted_ns
}

#[test]
fn nodes_take_what_their_kernels_do() {
    // The first two rounds launch them still, and wait for the last one.
    let more = with_graphs(|_| 3_600) - with_graphs(|_| 2_600);
    assert_eq!(more, 1_000 * (2 + (ROUNDS - 2) * KERNELS));
}

#[test]
fn kernels_that_took_a_little_longer_as_launches_do_not_as_nodes() {
    let more = with_graphs(|number| if number % 3 == 1 { 3_400 } else { 2_600 }) - with_graphs(|_| 2_600);
    // Of the kernels that the first rounds still launch, one of the longer ones is waited for.
    assert_eq!(more, 800);
}

#[test]
fn kernels_that_took_much_longer_do_as_nodes_too() {
    let more = with_graphs(|number| if number % 3 == 1 { 4_600 } else { 2_600 }) - with_graphs(|_| 2_600);
    assert_eq!(more, 2_000 * 327);
}
