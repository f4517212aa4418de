//! Seed 000's second program: four threads whose kernels get shorter, released 10 ms apart.

use crate::support::{Row, check, row, run, traced};
use experiments::HostMemory;
use experiments::catalogue::stagger::Case;
use trace::{OpKind, Trace};

/// A seed of p100-nvprof with which it goes as in the listing of the GPU.
const GPU_SEED: u64 = 153;

/// When something was and how long, seconds from the first thread's release.
#[derive(Debug)]
struct Span {
    thread: usize,
    name: String,
    start: f64,
    end: f64,
}

fn s(ns: i64, trace: &Trace) -> f64 {
    (ns - trace.ranges.start.iter().min().unwrap()) as f64 / 1e9
}

/// The calls of the bodies, by thread and in order.
fn calls(trace: &Trace) -> Vec<Span> {
    let first = *trace.ranges.start.iter().min().unwrap();
    let calls = trace.calls.ids().map(|id| trace.calls.row(id)).filter(|call| call.start >= first);
    let span = |call: trace::Call| Span {
        thread: call.thread.index(),
        name: trace.text(call.name).to_owned(),
        start: s(call.start, trace),
        end: s(call.end, trace),
    };
    let mut calls: Vec<Span> = calls.map(span).collect();
    calls.sort_by(|a, b| (a.thread, a.start).partial_cmp(&(b.thread, b.start)).unwrap());
    calls
}

/// The four long kernels, by thread.
fn kernels(trace: &Trace) -> Vec<Span> {
    let ops = trace.ops.ids().map(|id| trace.ops.row(id));
    let long = ops.filter(|op| op.kind == OpKind::Kernel && op.end - op.start > 1_000_000_000);
    let span = |op: trace::Op| Span {
        thread: trace.calls.thread[op.call].index(),
        name: String::new(),
        start: s(op.start, trace),
        end: s(op.end, trace),
    };
    let mut kernels: Vec<Span> = long.map(span).collect();
    kernels.sort_by_key(|kernel| kernel.thread);
    kernels
}

fn of(calls: &[Span], thread: usize) -> Vec<&Span> {
    calls.iter().filter(|call| call.thread == thread).collect()
}

#[test]
fn pageable_on_h200() {
    let trace = traced(&Case::default().workload(), "h200");
    let (calls, kernels) = (calls(&trace), kernels(&trace));
    let mut rows = Vec::new();
    for (thread, time) in [4.04, 3.54, 3.03, 2.53].into_iter().enumerate() {
        let kernel = &kernels[thread];
        rows.push(row(format!("kernel {thread} runs"), time, kernel.end - kernel.start, 0.01));
        assert!(kernel.start - thread as f64 * 0.01 < 0.001, "it starts at once: {kernel:?}");
        rows.push(row(format!("copy {thread} returns"), 4.04, of(&calls, thread)[2].end, 0.01));
    }
    check(&rows);
}

#[test]
fn pinned_on_h200() {
    let trace = traced(&Case { memory: HostMemory::Pinned, ..Case::default() }.workload(), "h200");
    let (calls, kernels) = (calls(&trace), kernels(&trace));
    let mut rows = Vec::new();
    for (thread, kernel) in kernels.iter().enumerate() {
        let wait = of(&calls, thread)[3];
        assert_eq!(wait.name, "cuStreamSynchronize");
        assert!((wait.end - kernel.end).abs() < 0.001, "with its own kernel: {wait:?}");
    }
    for (thread, time) in [(3, 1.49), (2, 0.99), (1, 0.50)] {
        let free = of(&calls, thread)[4];
        assert_eq!(free.name, "cuMemFree");
        rows.push(row(format!("free of {thread}"), time, free.end - free.start, 0.05));
    }
    check(&rows);
}

/// One process per worker: a kernel that counts cycles ends as if alone, although the processes take turns on the GPU.
#[test]
fn forked_on_h200() {
    let outcome = run(&Case { fork: true, ..Case::default() }.workload(), "h200");
    let took = |at: usize| outcome.threads[at].elapsed_ns as f64 / 1e9;
    let times = [4.04, 3.54, 3.03, 2.53].into_iter().enumerate();
    let rows: Vec<Row> =
        times.map(|(at, time)| row(format!("process {at}"), time, took(at), 0.015)).collect();
    check(&rows);
}

/// The staggered program on a model whose chance follows from another seed.
fn seeded(base: &str, seed: u64) -> Trace {
    let text = format!("base = \"{base}\"\nname = \"seeded\"\nseed = {seed}\n");
    let model = sim::Model::parse(&text, "seeded").unwrap();
    let options = sim::Options { trace: true, ..Default::default() };
    sim::run(&Case::default().workload(), &model, options).unwrap().1.unwrap()
}

/// When the last call returns, s.
fn end(calls: &[Span]) -> f64 {
    calls.iter().map(|call| call.end).fold(0.0, f64::max)
}

/// Seed 000's listing of calls, by thread and in order: what it was, how long it took, s. Frees of memory, and launches that do
/// not wait, take 223 to 493 µs and 133 to 169 there.
#[test]
fn pageable_on_p100_under_nvprof_as_calls_were_listed() {
    const FREE: (f64, f64) = (223e-6, 493e-6);
    const LAUNCH: (f64, f64) = (133e-6, 169e-6);
    let one = |time: f64| (time, time);
    let listed = [
        [one(1.0149e-3), LAUNCH, one(6.03009), one(4.51955), FREE],
        [one(6.02233), one(8.28431), one(5.27025), FREE, FREE],
        [one(6.01336), LAUNCH, one(4.51590), FREE, FREE],
        [one(10.5227), LAUNCH, one(3.76340), one(5.26797), FREE],
    ];
    let calls = calls(&traced(&Case::default().workload(), "p100-nvprof"));
    let mut rows = vec![row("all of it", 19.588, end(&calls), 0.01)];
    for (thread, listed) in listed.into_iter().enumerate() {
        for (call, measured) in of(&calls, thread).into_iter().zip(listed) {
            let what = format!("thread {thread}: {}", call.name);
            rows.push(Row { what, measured, simulated: call.end - call.start, within: 0.15 });
        }
    }
    assert_eq!(rows.len(), 21);
    check(&rows);
}

/// Seed 000's listing of the GPU, another run: when each operation began, s from the first one, and how long it took.
#[test]
fn pageable_on_p100_under_nvprof_as_the_gpu_was_listed() {
    const OUT: (f64, f64) = (114.88e-6, 138.49e-6);
    let one = |time: f64| (time, time);
    let alone = (225.28e-6, 231.07e-6);
    let crowded = (354.20e-6, 405.69e-6);
    let listed = [
        [(0.0, alone), (0.0003, one(6.04460)), (6.04494, OUT)],
        [(6.04671, alone), (6.04709, one(5.26744)), (15.83299, OUT)],
        [(11.31639, crowded), (11.31689, one(4.51495)), (15.83189, OUT)],
        [(6.0483, crowded), (6.04885, one(3.76247)), (9.81129, OUT)],
    ];
    let trace = seeded("p100-nvprof", GPU_SEED);
    let first = *trace.ranges.start.iter().min().unwrap();
    let ops = trace.ops.ids().map(|id| trace.ops.row(id)).filter(|op| op.start >= first);
    let mut ops: Vec<trace::Op> = ops.collect();
    ops.sort_by_key(|op| (op.stream, op.start));
    assert_eq!(ops.len(), 12);
    let mut rows = Vec::new();
    for (op, (start, time)) in ops.iter().zip(listed.into_iter().flatten()) {
        let what = format!("stream {}: {:?}", op.stream.index(), op.kind);
        let simulated = (op.end - op.start) as f64 / 1e9;
        rows.push(Row { what: what.clone(), measured: time, simulated, within: 0.15 });
        rows.push(row(format!("{what} begins"), start + 1.0, s(op.start, &trace) + 1.0, 0.01));
    }
    rows.push(row("all of it", 15.833, end(&calls(&trace)), 0.01));
    check(&rows);
}

/// Streams that are created while others create and allocate take up to 2.18 ms, the first 75 µs.
#[test]
fn streams_are_created_one_after_the_other_on_p100() {
    let trace = traced(&Case::default().workload(), "p100-nvprof");
    let calls = trace.calls.ids().map(|id| trace.calls.row(id));
    let mut times: Vec<f64> = calls
        .filter(|call| trace.text(call.name) == "cuStreamCreate")
        .map(|call| (call.end - call.start) as f64 / 1e3)
        .collect();
    times.sort_by(f64::total_cmp);
    let longest = Row {
        what: "the longest, µs".to_owned(),
        measured: (937.96, 2181.8),
        simulated: times[3],
        within: 0.15,
    };
    check(&[row("a stream alone, µs", 75.357, times[0], 0.15), longest]);
}

/// Chance decides between the lengths of the two listings under the profiler, whose launches are long enough for a woken thread to
/// run in between; without it threads run one after the other. In any order the length is between 11.3 s, if all launch before
/// one waits, and 19.6 s.
#[test]
fn other_seeds_give_other_orders() {
    let ends = |base| (0..20).map(move |seed| end(&calls(&seeded(base, seed)))).collect::<Vec<f64>>();
    let (bare, profiled) = (ends("p100"), ends("p100-nvprof"));
    println!("{bare:.1?} {profiled:.1?}");
    assert!(bare.iter().all(|end| (19.5..19.7).contains(end)));
    assert!(profiled.iter().all(|end| (11.2..19.7).contains(end)));
    assert!(profiled.iter().any(|end| *end > 19.5) && profiled.iter().any(|end| *end < 16.0));
    assert_eq!(profiled, ends("p100-nvprof"), "the same again");
}

/// The costs of a profiler: a launch that does not wait takes 135 µs under nvprof, and 5 without.
#[test]
fn a_launch_with_and_without_the_profiler() {
    let launch = |model| {
        let calls = calls(&traced(&Case { threads: 1, ..Case::default() }.workload(), model));
        let launch = calls.iter().find(|call| call.name == "cuLaunchKernel").unwrap();
        (launch.end - launch.start) * 1e6
    };
    check(&[
        row("nvprof, µs", 133.49, launch("p100-nvprof"), 0.15),
        row("bare, µs", 5.0, launch("p100"), 0.15),
    ]);
}
