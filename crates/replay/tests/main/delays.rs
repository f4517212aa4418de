//! Waits of kernels before they start.

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

/// The latency and the gap of the last of several copies of pageable memory to the device, ns. Those before it found an idle device and
/// started 80 µs after they were asked for, as 40 kernels did after 3 µs; the last one, of `bytes`, was asked for so long before it started,
/// 5 µs after a kernel.
fn last_copy(copies: Ns, bytes: i64, asked: Ns) -> (Ns, Ns) {
    let mut trace = Trace::default();
    let (thread, stream) = add_process(&mut trace, 1);
    let [launch, copy] = ["cudaLaunchKernel", "cudaMemcpyAsync"].map(|name| trace.strings.intern(name));
    let mut issues = |name, start, end, op: Op| {
        let correlation = trace.calls.len() as i64 + 1;
        trace.calls.push(Call { start, end, thread, name, correlation, ..Call::default() });
        trace.ops.push(Op { stream, correlation, ..op });
    };
    let (kind, src) = (OpKind::Copy, MemoryKind::Pageable);
    let of_bytes = Op { kind, copy: CopyKind::HtoD, src, bytes: 1 << 20, ..Op::default() };
    let mut at = 0;
    let launches = |at: Ns, ns: Ns, issues: &mut dyn FnMut(Sym, Ns, Ns, Op)| {
        let kernel = Op { kind: OpKind::Kernel, start: at + 6_000, end: at + 6_000 + ns, ..Op::default() };
        issues(launch, at, at + 5_000, kernel);
    };
    for _ in 0..40 {
        launches(at, 10_000, &mut issues);
        at += 100_000;
    }
    for _ in 0..copies {
        issues(copy, at, at + 190_000, Op { start: at + 80_000, end: at + 180_000, ..of_bytes });
        at += 1_000_000;
    }
    launches(at, 789_000, &mut issues);
    let op = Op { start: at + 800_000, end: at + 900_000, bytes, ..of_bytes };
    issues(copy, at + 800_000 - asked, at + 910_000, op);
    trace.join();
    let recorded = recover(&trace).unwrap().recorded;
    let last = recorded.works.iter().rfind(|work| matches!(work.kind, sim::WorkKind::Copy { .. })).unwrap();
    (last.latency_ns.unwrap(), last.gap_ns.unwrap())
}

#[test]
fn a_copy_behind_a_kernel_starts_when_its_first_piece_is_there() {
    let (usual, gap) = last_copy(10, 1 << 20, 500_000);
    assert!((70_000..80_000).contains(&usual) && gap == 5_000, "{usual} {gap}");
    let (asked_late, gap) = last_copy(10, 1 << 20, 50_000);
    assert!((40_000..50_000).contains(&asked_late) && gap == 5_000, "{asked_late} {gap}");
    // Too few copies show how long that takes, and none of that size: as other operations.
    for (copies, bytes) in [(9, 1 << 20), (10, 1 << 21)] {
        let (latency, gap) = last_copy(copies, bytes, 500_000);
        assert!(latency < 10_000 && gap == 5_000, "{latency} {gap}");
    }
}
