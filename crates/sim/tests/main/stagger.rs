//! Seed 000's second program: four threads whose kernels get shorter, released 10 ms apart.

use crate::support::{check, row, traced};
use lab::HostMemory;
use lab::experiments::stagger::Case;
use trace::{OpKind, Trace};

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
        thread: trace.calls.thread[op.call.index()].index(),
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

#[test]
fn pageable_on_p100() {
    let trace = traced(&Case::default().workload(), "p100");
    let (calls, kernels) = (calls(&trace), kernels(&trace));
    for call in calls.iter().filter(|call| call.end - call.start > 0.001) {
        println!("{} {:22} {:8.4} {:8.4}", call.thread, call.name, call.start, call.end - call.start);
    }
    for kernel in &kernels {
        println!("{} kernel {:8.4} to {:8.4}", kernel.thread, kernel.start, kernel.end);
    }
    let mut rows = vec![row("the first kernel runs", 6.04, kernels[0].end - kernels[0].start, 0.01)];
    for (thread, kernel) in kernels.iter().enumerate().skip(1) {
        let copy = of(&calls, thread)[0];
        assert!(copy.end > kernels[0].end, "the copy in waits for the first kernel: {copy:?}");
        assert!(kernel.start > kernels[0].end, "and so does the kernel");
    }
    let end = calls.iter().map(|call| call.end).fold(0.0, f64::max);
    rows.push(row("all of it", 15.83, end, 0.05));
    check(&rows);
}

/// Launches that return at once, as without nvprof: nobody gets between a launch and the copy back.
#[test]
fn pageable_on_p100_without_the_profiler() {
    let launch = "launch = { before_ns = 2_000, held_ns = 3_000, after_ns = 2_000 }";
    let text = format!("base = \"p100\"\nname = \"bare\"\n[calls]\n{launch}\n");
    let model = sim::Model::parse(&text, "bare").unwrap();
    let options = sim::Options { trace: true, ..Default::default() };
    let trace = sim::run(&Case::default().workload(), &model, options).unwrap().1.unwrap();
    let end = calls(&trace).iter().map(|call| call.end).fold(0.0, f64::max);
    check(&[row("all of it, as in the seed's second listing", 19.59, end, 0.05)]);
}
