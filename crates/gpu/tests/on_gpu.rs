//! On a machine with a GPU: whether results are right, and figures to compare. `cargo test -p holdup-gpu --release --test
//! on_gpu -- --ignored --nocapture --test-threads 1`
#![cfg(target_os = "linux")]

#[path = "support/mod.rs"]
mod support;

use gpu::{Options, Run, run};
use std::time::Duration;
use support::{
    architectures, architectures_in, architectures_thread, every_call, gpu_try, kernels, single, two_devices,
};
use workload::{Kernel, Memory, Repeat, StreamKind, Workload};

fn options() -> Options {
    Options { executable: Some(gpu_try()), ..Options::default() }
}

#[track_caller]
fn ran(workload: &Workload, options: &Options) -> Run {
    let run = run(workload, options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.partial, None);
    run.notes.iter().for_each(|note| println!("note: {note}"));
    run
}

#[test]
#[ignore = "needs a GPU"]
fn every_kernel_is_right() {
    let (workload, mut wrong) = (kernels(), 0);
    let run = ran(&workload, &options());
    for (thread, outcome) in workload.processes[0].threads.iter().zip(&run.outcome.threads) {
        println!("{}: largest error {:?}", thread.name, outcome.max_error);
        // Sums of floats: some 5 ulp of what is summed up.
        let allowed = if thread.name == "product" { 0.05 } else { 1e-5 };
        wrong += u32::from(!outcome.max_error.is_some_and(|error| error <= allowed));
    }
    assert_eq!(wrong, 0);
}

#[test]
#[ignore = "needs a GPU"]
fn every_call_works() {
    let run = ran(&every_call(), &Options { trace: true, ..options() });
    let outcome = &run.outcome.threads[0];
    assert_eq!(outcome.max_error, Some(0.0));
    let trace = run.trace.expect("it was asked for");
    println!(
        "{} calls, {} of them in bodies",
        trace.calls.len(),
        outcome.calls.iter().map(|c| c.count).sum::<u64>()
    );
    outcome.calls.iter().for_each(|call| println!("{call:?}"));
}

#[test]
#[ignore = "needs a GPU"]
fn a_delay_lasts_its_cycles() {
    let cycles = 200_000_000;
    let workload = single("delay", |process| {
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let thread = process.thread("delay", context);
        thread.before().launch(Kernel::Delay { cycles: 1000 }, 1, 1, stream).synchronize(stream);
        thread.body().launch(Kernel::Delay { cycles }, 1, 1, stream).synchronize(stream);
    });
    let run = ran(&workload, &options());
    let (elapsed, clock) = (run.outcome.threads[0].elapsed_ns, run.devices[0].clock_khz);
    let expected = cycles * 1_000_000 / u64::from(clock);
    println!("{cycles} cycles took {elapsed} ns; at {clock} kHz they take {expected}");
    assert!(elapsed >= expected && elapsed < expected * 2);
}

/// What a launch costs, watched more and more closely.
#[test]
#[ignore = "needs a GPU"]
fn what_watching_costs() {
    let workload = single("launches", |process| {
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let thread = process.thread("launches", context);
        thread.before().launch(Kernel::Empty, 1, 32, stream).synchronize(stream);
        // Fewer than wait in a stream before it is full.
        thread.body().repeat(500, |steps| {
            steps.launch(Kernel::Empty, 1, 32, stream);
        });
        thread.body().synchronize(stream);
        thread.repeat = Repeat::Times(200);
    });
    for (name, timed, trace) in [("bodies", false, false), ("calls", true, false), ("trace", true, true)] {
        let times = (0..5).map(|_| {
            let run = ran(&workload, &Options { timed, trace, ..options() });
            run.outcome.threads[0].elapsed_ns / (500 * 200)
        });
        println!("{name}: {:?} ns a launch", times.collect::<Vec<_>>());
    }
}

/// Iterations a second, as seed 000 counts them.
fn throughput(run: &Run, iterations: u64) -> f64 {
    for thread in &run.outcome.threads {
        assert_eq!((thread.rounds, thread.max_error), (iterations, Some(0.0)), "{thread:?}");
    }
    let elapsed: u64 = run.outcome.threads.iter().map(|thread| thread.elapsed_ns).sum();
    let threads = run.outcome.threads.len() as f64;
    1e9 / elapsed as f64 * iterations as f64 * threads * threads
}

/// The best of a few rounds, as the seed takes it.
fn best(name: &str, workload: &Workload, iterations: u64) {
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3);
    let all: Vec<f64> = (0..rounds).map(|_| throughput(&ran(workload, &options()), iterations)).collect();
    println!("{name}: {:.1} iterations/s, best of {all:.1?}", all.iter().copied().fold(0.0, f64::max));
}

fn iterations() -> u64 {
    std::env::var("ITERATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(200)
}

#[test]
#[ignore = "needs a GPU"]
fn architectures_in_threads() {
    for threads in [1, 4, 8] {
        best(
            &format!("{threads} threads, pinned"),
            &architectures(threads, iterations(), Memory::Pinned),
            iterations(),
        );
    }
    for threads in [1, 4] {
        let workload = architectures(threads, iterations(), Memory::Fresh);
        best(&format!("{threads} threads, pageable, no sync"), &workload, iterations());
    }
}

#[test]
#[ignore = "needs a GPU"]
fn architectures_in_contexts() {
    let workload = single("contexts", |process| {
        for thread in 0..4 {
            let context = process.own_context(0);
            architectures_thread(process, context, &thread.to_string(), iterations(), Memory::Pinned);
        }
    });
    best("4 threads, a context each", &workload, iterations());
}

/// Processes of one thread.
fn processes(count: usize, mps: bool) -> Workload {
    let mut workload = Workload::new("processes");
    workload.mps = mps;
    for number in 0..count {
        architectures_in(workload.process(format!("p{number}")), 1, iterations(), Memory::Pinned);
    }
    workload
}

#[test]
#[ignore = "needs a GPU"]
fn architectures_in_processes() {
    best("4 processes", &processes(4, false), iterations());
}

#[test]
#[ignore = "needs a GPU, and MPS"]
fn architectures_under_mps() {
    best("4 processes + MPS", &processes(4, true), iterations());
    let daemons = || std::process::Command::new("pgrep").args(["-c", "nvidia-cuda-mps"]).output();
    let daemons = daemons().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!("MPS processes left: {daemons:?}");
}

/// What meeting across processes costs.
#[test]
#[ignore = "needs a GPU"]
fn processes_meet() {
    let mut workload = Workload::new("meet");
    let barrier = workload.barrier("b", 4);
    for number in 0..4 {
        let process = workload.process(format!("p{number}"));
        let context = process.primary(0);
        let thread = process.thread("t", context);
        thread.body().meet(barrier);
        thread.repeat = Repeat::Times(100_000);
    }
    let run = ran(&workload, &options());
    for thread in &run.outcome.threads {
        println!("{} ns a meeting of four processes", thread.elapsed_ns / thread.rounds);
    }
}

/// A long kernel does not keep a run from being stopped.
#[test]
#[ignore = "needs a GPU"]
fn a_run_is_stopped_at_its_limit() {
    let workload = single("long", |process| {
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let thread = process.thread("long", context);
        thread.body().launch(Kernel::Delay { cycles: 20_000_000_000 }, 1, 1, stream).synchronize(stream);
    });
    let began = std::time::Instant::now();
    let run = run(&workload, &Options { limit: Some(Duration::from_secs(2)), ..options() });
    let run = run.unwrap_or_else(|error| panic!("{error}"));
    println!("{:?} after {:?}: {:?} {:?}", run.partial, began.elapsed(), run.outcome.threads, run.notes);
    assert_eq!(run.partial, Some(gpu::Partial::Limit));
}

#[test]
#[ignore = "needs a GPU"]
fn devices_and_rates() {
    let machine = gpu::devices(Some(gpu_try())).unwrap_or_else(|error| panic!("{error}"));
    println!("{machine:#?}");
    println!("{:?}", gpu::rates(0, &options()).unwrap_or_else(|error| panic!("{error}")));
}

/// More memory than there is, in the second of two processes.
#[test]
#[ignore = "needs a GPU"]
fn too_much_memory_is_told() {
    let mut workload = Workload::new("memory");
    for (name, bytes) in [("small", 1 << 20), ("large", 1 << 44)] {
        let process = workload.process(name);
        let context = process.primary(0);
        let buffer = process.buffer("b", context, Memory::Device, bytes);
        process.thread("t", context).body().allocate(buffer).free(buffer);
    }
    let said = run(&workload, &options()).err().expect("it fails").to_string();
    println!("{said}");
    assert!(said.contains("\"large\"") && said.contains("CUDA_ERROR_OUT_OF_MEMORY (2)"));
}

#[test]
#[ignore = "needs two GPUs"]
fn what_one_device_has_is_copied_to_another() {
    let run = ran(&two_devices(), &Options { timed: true, ..options() });
    run.outcome.threads.iter().for_each(|thread| println!("{thread:?}"));
    assert!(run.outcome.threads[1].max_error.is_some_and(|error| error <= 1e-5));
}
