//! Kernels that fill a device end one after the other.

use crate::support::{add_beside, add_process, replayed};
use trace::*;

/// Two threads with a stream each launch 20 kernels of so many blocks of 256 threads; each runs for 140 µs, and the next one, of the other
/// stream, begins so long after it. What the replay takes more than the trace, ns.
fn longer(blocks: u32, after: Ns) -> Ns {
    let mut trace = Trace::default();
    let (first, one) = add_process(&mut trace, 1);
    let (second, other) = add_beside(&mut trace, first, one);
    let [launch, wait] = ["cudaLaunchKernel", "cudaStreamSynchronize"].map(|name| trace.strings.intern(name));
    for round in 0..40 {
        let (thread, stream) = if round % 2 == 0 { (first, one) } else { (second, other) };
        let correlation = round + 1;
        // Both launch everything at first.
        let start = 5_000 * (round / 2);
        let call = Call { start, end: start + 4_000, thread, name: launch, correlation, ..Call::default() };
        trace.calls.push(call);
        let start = 10_000 + after * round;
        let op =
            Op { kind: OpKind::Kernel, start, end: start + 140_000, stream, correlation, ..Op::default() };
        trace.ops.push(Op { grid_x: blocks, block_x: 256, ..op });
    }
    let end = 10_000 + after * 39 + 140_000;
    for (thread, end) in [(first, end - after), (second, end)] {
        let call = Call { start: 110_000, end: end + 3_000, thread, name: wait, ..Call::default() };
        trace.calls.push(call);
    }
    trace.join();
    let (recovered, replayed) = replayed(&trace);
    recovered.wall(&replayed) - (end + 3_000)
}

#[test]
fn a_kernel_that_begins_when_a_full_device_empties_has_the_time_from_then_on() {
    let longer = longer(4_224, 120_000);
    assert!(longer.abs() < 5_000, "{longer}");
}

/// Kernels of each stream follow each other closely.
#[test]
fn kernels_that_leave_room_run_as_long_as_they_did() {
    let longer = longer(64, 71_000);
    assert!(longer.abs() < 5_000, "{longer}");
}

#[test]
fn kernels_that_share_a_device_all_the_time_end_as_they_did() {
    let longer = longer(4_224, 71_000);
    assert!(longer.abs() < 5_000, "{longer}");
}
