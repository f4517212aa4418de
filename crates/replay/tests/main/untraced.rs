//! What CUPTI adds is taken off before anything is predicted, and nothing else is.

use replay::{Recovered, recover};
use sim::{CallOf, RecordedStep};
use trace::*;

/// Calls of 6 µs of one thread, of which each issues an operation of 22 µs into one stream, with 1.5 µs between them; then one of 60 µs.
fn calls(name: &str, op: Op, tracer: &str) -> Trace {
    let mut trace = Trace::default();
    trace.meta.source_version = tracer.to_owned();
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let thread = trace.threads.push(Thread { process, tid: 1, ..Thread::default() });
    let device = trace.devices.push(Device { compute_major: 9, multiprocessors: 132, ..Device::default() });
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    let name = trace.strings.intern(name);
    for number in 0..100 {
        let start = 10_000 * number;
        let end = start + if number == 99 { 60_000 } else { 6_000 };
        let call = trace.calls.push(Call { start, end, thread, api: Api::Runtime, name, ..Call::default() });
        let start = 8_000 + 23_500 * number;
        trace.ops.push(Op { start, end: start + 22_000, call, stream, ..op });
    }
    trace
}

fn untraced(trace: &Trace) -> Recovered {
    recover(trace).unwrap().untraced(trace)
}

/// Own costs of the calls, ns, without those of the first one, whose operation begins when it has an effect.
fn costs(of: &Recovered) -> Vec<Ns> {
    let own = |call: &CallOf| call.before_ns + call.held_ns + call.after_ns;
    let steps = of.recorded.threads[0].iter();
    steps
        .filter_map(|step| if let RecordedStep::Call(call) = step { Some(own(call)) } else { None })
        .skip(1)
        .collect()
}

fn check(of: &Recovered, cost: Ns, long: Ns, ns: Ns, gap: Ns) {
    let costs = costs(of);
    assert!(costs[..98].iter().all(|own| *own == cost), "{costs:?}");
    assert_eq!(costs[98], long);
    for work in &of.recorded.works[1..] {
        assert_eq!((work.ns, work.gap_ns), (ns, Some(gap)));
    }
}

const CUPTI: &str = "CUPTI 2025.3.1";

#[test]
fn launches_and_their_kernels() {
    let trace = calls("cudaLaunchKernel", Op { kind: OpKind::Kernel, ..Op::default() }, CUPTI);
    // From one kernel to the next it is 400 ns.
    check(&untraced(&trace), 4_200, 57_500, 22_000 - 860, 1_500 + 460);
}

#[test]
fn copies_and_fills_begin_earlier() {
    let copy = Op {
        kind: OpKind::Copy,
        copy: CopyKind::HtoD,
        src: MemoryKind::Pinned,
        bytes: 1 << 20,
        ..Op::default()
    };
    for (name, op) in
        [("cudaMemcpyAsync", copy), ("cudaMemsetAsync", Op { kind: OpKind::Memset, ..Op::default() })]
    {
        check(&untraced(&calls(name, op, CUPTI)), 4_200, 57_500, 22_000, 100);
    }
}

#[test]
fn nothing_without_cupti() {
    let trace = calls("cudaLaunchKernel", Op { kind: OpKind::Kernel, ..Op::default() }, "");
    check(&untraced(&trace), 6_000, 60_000, 22_000, 1_500);
}

/// CUPTI has one record of a graph: its kernels take as long as without.
#[test]
fn kernels_of_graphs_take_as_long() {
    let trace = calls("cudaGraphLaunch", Op { kind: OpKind::Kernel, graph_node: 1, ..Op::default() }, CUPTI);
    check(&untraced(&trace), 4_200, 57_500, 22_000, 1_500);
}
