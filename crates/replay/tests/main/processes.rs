//! Threads turned into processes: what their kernels take.

use replay::{Fit, Predictor, recover};
use trace::*;

/// A thread's kernels: how many, from when on, how often, and how long each runs, ns.
struct Kernels {
    count: i64,
    from: Ns,
    every: Ns,
    ns: Ns,
}

/// Two threads with a stream each, on one device or two; the kernels of each, by thread.
fn trace_of(kernels: &[(usize, Kernels)], devices: usize) -> Trace {
    let mut trace = Trace::default();
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let mut of = Vec::new();
    for number in 0..2 {
        let ordinal = (number % devices) as i64;
        if ordinal == trace.devices.len() as i64 {
            trace.devices.push(Device {
                ordinal,
                compute_major: 9,
                multiprocessors: 132,
                ..Device::default()
            });
            trace.contexts.push(Context { process, device: DeviceId::new(ordinal as usize), number: 1 });
        }
        let context = ContextId::new(ordinal as usize);
        let stream = trace.streams.push(Stream { context, number: 7 + number as i64 });
        of.push((
            trace.threads.push(Thread { process, tid: 1 + number as i64, ..Thread::default() }),
            stream,
        ));
    }
    let name = trace.strings.intern("cudaLaunchKernel");
    let mut correlation = 0;
    for (row, Kernels { count, from, every, ns }) in kernels {
        let (thread, stream) = of[*row];
        for start in (0..*count).map(|at| from + at * every) {
            correlation += 1;
            trace.calls.push(Call {
                start,
                end: start + 3_000,
                thread,
                name,
                correlation,
                ..Call::default()
            });
            let op =
                Op { start: start + 4_000, end: start + 4_000 + ns, stream, correlation, ..Op::default() };
            trace.ops.push(Op { kind: OpKind::Kernel, grid_x: 8, block_x: 256, ..op });
        }
    }
    trace.join();
    trace
}

/// How long the kernels from a moment on would take as those of processes under MPS, ns.
fn as_processes(trace: &Trace, from: Ns) -> Vec<Ns> {
    let base = recover(trace).unwrap();
    let fit = Fit::of(trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(trace, &base, &fit, &|_| {}).unwrap();
    let after = predictor.trace(&replay::fixes("process-per-thread,mps").unwrap()).unwrap().unwrap();
    let ops = after.ops.ids().filter(|op| trace.ops.start[op.index()] >= from);
    let mut times: Vec<Ns> = ops.map(|op| after.ops.end[op.index()] - after.ops.start[op.index()]).collect();
    times.sort_unstable();
    times.dedup();
    times
}

const LATER: Ns = 10_000_000;

/// Kernels that take 3.6 µs alone, then longer ones of both threads at the same time.
fn beside(alone: i64, ns: Ns, devices: usize) -> Trace {
    let first = Kernels { count: alone, from: 0, every: 20_000, ns: 3_600 };
    let both = [0, 1].map(|row| (row, Kernels { count: 100, from: LATER, every: 20_000, ns }));
    let [one, other] = both;
    trace_of(&[(0, first), one, other], devices)
}

#[test]
fn kernels_beside_those_of_another_queue_take_what_they_take_alone() {
    assert_eq!(as_processes(&beside(50, 4_000, 1), LATER), [3_600]);
}

/// A queue more adds 480 ns between kernels of the model: what they took longer than that, they shared something else for.
#[test]
fn kernels_that_share_memory_or_processors_still_do() {
    assert_eq!(as_processes(&beside(50, 9_000, 1), LATER), [9_000 - 480]);
}

#[test]
fn kernels_of_another_device_are_not_beside() {
    assert_eq!(as_processes(&beside(50, 4_000, 2), LATER), [4_000]);
}

#[test]
fn a_few_kernels_do_not_show_what_one_takes_alone() {
    assert_eq!(as_processes(&beside(5, 4_000, 1), LATER), [4_000]);
}

/// CUPTI's times of a launched kernel are 860 ns longer than what it takes; of a short one, half is left.
#[test]
fn predictions_are_without_what_cupti_adds_to_kernels() {
    let mut trace = beside(50, 9_000, 2);
    trace.meta.source_version = String::from("CUPTI 2025.3.1");
    assert_eq!(as_processes(&trace, LATER), [9_000 - 860]);
    let mut short = beside(50, 1_000, 2);
    short.meta.source_version = String::from("CUPTI 2025.3.1");
    assert_eq!(as_processes(&short, LATER), [500]);
}
