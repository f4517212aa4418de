//! Waits of a call that frees memory.

use replay::{Change, Faster, Fit, Predictor, recover};
use trace::*;

const MS: Ns = 1_000_000;

/// A thread launches a kernel that runs until 1 ms. Another one frees memory at 2 ms, so long, and launches a kernel at 3 ms.
fn trace_of(free: Ns) -> Trace {
    let mut trace = Trace::default();
    let device = trace.devices.push(Device { multiprocessors: 132, ..Device::default() });
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let streams = [7, 8].map(|number| trace.streams.push(Stream { context, number }));
    let threads = [1, 2].map(|tid| trace.threads.push(Thread { process, tid, ..Thread::default() }));
    let [launch, release, slow, quick] =
        ["cuLaunchKernel", "cuMemFree_v2", "slow", "quick"].map(|text| trace.strings.intern(text));
    for (at, kernel, start, end) in [(0, slow, 0, MS), (1, quick, 3 * MS, 3 * MS + 50_000)] {
        let (thread, stream, correlation) = (threads[at], streams[at], at as i64 + 1);
        let call = Call { start, end: start + 5_000, thread, name: launch, correlation, ..Call::default() };
        trace.calls.push(Call { api: Api::Driver, ..call });
        let op = Op { start: start + 8_000, end, stream, correlation, name: kernel, ..Op::default() };
        trace.ops.push(Op { kind: OpKind::Kernel, grid_x: 1, block_x: 64, ..op });
    }
    let call =
        Call { start: 2 * MS, end: 2 * MS + free, thread: threads[1], name: release, ..Call::default() };
    trace.calls.push(Call { api: Api::Driver, ..call });
    trace.join();
    trace
}

/// When the second kernel is launched if the first one runs for 10 ms, ns.
fn launched(trace: &Trace) -> Ns {
    let base = recover(trace).unwrap();
    let fit = Fit::of(trace, &base, &base.replay().unwrap());
    assert!(fit.fits, "{}", fit.error);
    let predictor = Predictor::new(trace, &base, &fit, &|_| {}).unwrap();
    let slower: Faster = "kernel:slow=0.1x".parse().unwrap();
    let after = predictor.trace(&[Change::Faster(&slower)]).unwrap().expect("a change");
    *after.calls.start.iter().max().unwrap()
}

#[test]
fn memory_is_freed_when_the_kernels_are_done() {
    assert!(launched(&trace_of(200_000)) > 10 * MS);
}

#[test]
fn a_call_that_frees_nothing_waits_for_nothing() {
    assert_eq!(launched(&trace_of(1_000)), 3 * MS);
}
