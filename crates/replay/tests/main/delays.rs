//! What kernels wait for before they start.

use crate::support::add_process;
use replay::recover;
use trace::*;

/// A launch of 5.8 µs every 6 µs, and its kernel of so many ns, which starts 600 ns after the launch returns, the later ones `after` ns;
/// with `beside`, another stream has operations meanwhile. The gap before the last kernel in the replay, ns.
fn gap(after: Ns, ns: Ns, beside: bool) -> Option<Ns> {
    let mut trace = Trace::default();
    let (thread, stream) = add_process(&mut trace, 1);
    let context = trace.streams.context[stream.index()];
    let other = trace.streams.push(Stream { context, number: 8 });
    let name = trace.strings.intern("cudaLaunchKernel");
    for number in 0..100 {
        let (start, correlation) = (6_000 * number, number + 1);
        let call = Call { start, end: start + 5_800, thread, name, correlation, ..Call::default() };
        trace.calls.push(call);
        // The first ones find an idle device.
        let start = call.end + if number < 60 { 600 } else { after };
        let kernel =
            Op { kind: OpKind::Kernel, start, end: start + ns, stream, correlation, ..Op::default() };
        trace.ops.push(kernel);
        if beside {
            let (start, end) = (start + 100, start + 200);
            trace.ops.push(Op { kind: OpKind::Memset, start, end, stream: other, correlation: 0, ..kernel });
        }
    }
    trace.join();
    let recorded = recover(&trace).unwrap().recorded;
    let mut kernels = recorded.works.iter().filter(|work| work.is_launched());
    kernels.next_back().unwrap().gap_ns
}

#[test]
fn a_kernel_that_starts_soon_after_its_launch_waited_for_that() {
    assert_eq!(gap(600, 3_800, false), Some(1_600));
}

#[test]
fn a_kernel_close_to_the_one_before_waited_for_that() {
    assert_eq!(gap(600, 5_000, false), Some(1_000));
}

#[test]
fn a_kernel_that_was_launched_long_before_waited_for_the_one_before() {
    assert_eq!(gap(100_000, 3_800, false), Some(2_200));
}

#[test]
fn a_kernel_beside_other_streams_may_have_waited_for_them() {
    assert_eq!(gap(600, 3_800, true), Some(2_200));
}
