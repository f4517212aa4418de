//! Time that CUPTI adds is taken off before anything is predicted, and nothing else is.

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
    // 30 % of 4.5 µs and 55 % of the rest, and 150 ns of the recorder's own. From one kernel to the next it is 400 ns.
    check(&untraced(&trace), 3_675, 57_350, 22_000 - 860, 1_500 + 460);
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
        check(&untraced(&calls(name, op, CUPTI)), 4_050, 57_350, 22_000, 100);
    }
}

#[test]
fn nothing_without_cupti() {
    let trace = calls("cudaLaunchKernel", Op { kind: OpKind::Kernel, ..Op::default() }, "");
    check(&untraced(&trace), 6_000, 60_000, 22_000, 1_500);
}

/// PyTorch's profiler is not the recorder.
#[test]
fn launches_of_another_tracer_are_without_cuptis_part_alone() {
    let mut trace = calls("cudaLaunchKernel", Op { kind: OpKind::Kernel, ..Op::default() }, "");
    trace.meta.libraries.insert("CUPTI".to_owned(), "13.0".to_owned());
    check(&untraced(&trace), 3_825, 57_500, 22_000 - 860, 1_500 + 460);
}

/// CUPTI has one record of a graph: its kernels take as long as without.
#[test]
fn kernels_of_graphs_take_as_long() {
    let trace = calls("cudaGraphLaunch", Op { kind: OpKind::Kernel, graph_node: 1, ..Op::default() }, CUPTI);
    check(&untraced(&trace), 4_050, 57_350, 22_000, 1_500);
}

/// Kernels that run beside those of another stream come later by all that CUPTI adds to them.
#[test]
fn kernels_beside_others_are_as_far_apart_as_without() {
    let mut trace = calls("cudaLaunchKernel", Op { kind: OpKind::Kernel, ..Op::default() }, CUPTI);
    let stream = trace.streams.push(Stream { context: ContextId::new(0), number: 8 });
    let beside =
        Op { kind: OpKind::Kernel, stream, start: 8_000, end: 8_000 + 100 * 23_500, ..Op::default() };
    trace.ops.push(beside);
    let untraced = untraced(&trace);
    for work in &untraced.recorded.works[1..100] {
        assert_eq!((work.ns, work.gap_ns), (22_000 - 860, Some(1_500)));
    }
}

/// After each call with a stack the pause is shorter, or else the call; not where there is none.
#[test]
fn stacks_take_time_after_their_calls() {
    let mut trace = calls("cudaLaunchKernel", Op { kind: OpKind::Kernel, ..Op::default() }, CUPTI);
    let frame = trace.frames.push(Frame::default());
    let stack = trace.stacks.push(Stack { frame, ..Stack::default() });
    let without = untraced(&trace);
    trace.calls.stack[5] = stack;
    // No pause follows.
    trace.calls.stack[98] = stack;
    trace.calls.start[99] = trace.calls.end[98];
    let with = untraced(&trace);
    let pauses = |of: &Recovered| -> Vec<Ns> {
        let host = |step: &RecordedStep| if let RecordedStep::Host(ns) = step { Some(*ns) } else { None };
        of.recorded.threads[0].iter().filter_map(host).collect()
    };
    let [before_pauses, after_pauses] = [&without, &with].map(pauses);
    let shorter: Vec<(usize, Ns)> = (0..before_pauses.len().min(98))
        .filter(|at| before_pauses[*at] != after_pauses[*at])
        .map(|at| (at, before_pauses[at] - after_pauses[at]))
        .collect();
    assert_eq!(shorter, [(5, 2_700)]);
    let [before, after] = [&without, &with].map(costs);
    // Its end of 1,846 ns, of which CUPTI would have 55 and 30 %.
    assert_eq!((before[96] - after[96], before[97] - after[97]), (0, 917));
    // As the recording says what they took.
    let name = trace.strings.intern(STACKS);
    let thread = trace.threads.ids().next().unwrap();
    trace.tallies.push(Tally { thread, kind: TallyKind::Recorder, name, count: 3, time: 1_800 });
    for source in [CUPTI, ""] {
        trace.meta.source_version = source.to_owned();
        assert_eq!(before_pauses[5] - pauses(&untraced(&trace))[5], 600, "{source}");
    }
    trace.tallies.clear();
    // As PyTorch's profiler has them.
    trace.meta.source_version = String::new();
    trace.meta.libraries.insert("CUPTI".to_owned(), "13.0".to_owned());
    assert_eq!(pauses(&untraced(&trace))[5], before_pauses[5]);
}

/// In a convoy, a part of it is with the mutex, which decides how fast launches are.
#[test]
fn a_launch_in_a_convoy_holds_its_mutex_for_less() {
    let mut trace = crate::convoy::launches(16, 200);
    let held = |of: &Recovered| -> Vec<Ns> {
        let step = |step: &RecordedStep| match step {
            RecordedStep::Call(CallOf { held_ns, locks, .. }) if locks.mutex => Some(*held_ns),
            _ => None,
        };
        of.recorded.threads.iter().flatten().filter_map(step).collect()
    };
    let without = held(&untraced(&trace));
    trace.meta.source_version = CUPTI.to_owned();
    let with = held(&untraced(&trace));
    assert_eq!(with, without.iter().map(|ns| ns - ns * 14 / 100).collect::<Vec<_>>());
    assert!(!with.is_empty());
}
