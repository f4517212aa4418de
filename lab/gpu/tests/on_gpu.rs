//! Whether results are right on a machine with a GPU, and with two and MPS where a name says so: `cargo test -p holdup-gpu
//! --features on-gpu --test on_gpu -- --test-threads 1`. How fast it is, `holdup lab` says.
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
fn every_kernel_is_right() {
    let (workload, mut wrong) = (kernels(), 0);
    let run = ran(&workload, &options());
    for (thread, outcome) in workload.processes[0].threads.iter().zip(&run.outcome.threads) {
        // Sums of floats: some 5 ulp of what is summed up.
        let allowed = if thread.name == "product" { 0.05 } else { 1e-5 };
        wrong += u32::from(!outcome.max_error.is_some_and(|error| error <= allowed));
    }
    assert_eq!(wrong, 0);
}

#[test]
fn every_call_works() {
    let run = ran(&every_call(), &Options { trace: true, ..options() });
    let outcome = &run.outcome.threads[0];
    assert_eq!(outcome.max_error, Some(0.0));
    let trace = run.trace.expect("it was asked for");
    assert!(trace.calls.len() as u64 >= outcome.calls.iter().map(|call| call.count).sum());
}

#[test]
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
    let said = format!("{cycles} cycles took {elapsed} ns; at {clock} kHz they take {expected}");
    assert!(elapsed >= expected && elapsed < expected * 2, "{said}");
}

/// Every worker did all of its iterations, and has the right result.
fn is_right(workload: &Workload) {
    for thread in &ran(workload, &options()).outcome.threads {
        assert_eq!((thread.rounds, thread.max_error), (ITERATIONS, Some(0.0)), "{thread:?}");
    }
}

const ITERATIONS: u64 = 20;

#[test]
fn rows_and_slices_are_copied_both_ways() {
    for slices in [None, Some(3)] {
        let run = ran(&support::rows(slices), &options());
        assert_eq!(run.outcome.threads[0].max_error, Some(0.0), "{slices:?}");
    }
}

#[test]
fn cublas_computes_a_norm_on_host_and_device() {
    let run = ran(&support::norms(), &options());
    // An ulp of 64.
    assert!(run.outcome.threads[0].max_error.is_some_and(|error| error <= 1e-5));
}

#[test]
fn architectures_in_threads() {
    for memory in [Memory::Pinned, Memory::Fresh] {
        [1, 4, 8].into_iter().for_each(|threads| is_right(&architectures(threads, ITERATIONS, memory)));
    }
}

#[test]
fn architectures_in_contexts() {
    is_right(&single("contexts", |process| {
        for thread in 0..4 {
            let context = process.own_context(0);
            architectures_thread(process, context, &thread.to_string(), ITERATIONS, Memory::Pinned);
        }
    }));
}

/// Processes of one thread.
fn processes(count: usize, mps: bool) -> Workload {
    let mut workload = Workload::new("processes");
    workload.mps = mps;
    for number in 0..count {
        architectures_in(workload.process(format!("p{number}")), 1, ITERATIONS, Memory::Pinned);
    }
    workload
}

#[test]
fn architectures_in_processes() {
    is_right(&processes(4, false));
}

#[test]
fn architectures_under_mps() {
    let daemons = || {
        let found = std::process::Command::new("pgrep").args(["-c", "nvidia-cuda-mps"]).output();
        found.expect("pgrep starts").stdout
    };
    let before = daemons();
    is_right(&processes(4, true));
    assert_eq!(daemons(), before, "an MPS process is left");
}

#[test]
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
    assert!(run.outcome.threads.iter().all(|thread| thread.rounds == 100_000));
}

/// A long kernel does not keep a run from being stopped.
#[test]
fn a_run_is_stopped_at_its_limit() {
    let workload = single("long", |process| {
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let thread = process.thread("long", context);
        thread.body().launch(Kernel::Delay { cycles: 20_000_000_000 }, 1, 1, stream).synchronize(stream);
    });
    let run = run(&workload, &Options { limit: Some(Duration::from_secs(2)), ..options() });
    let run = run.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.partial, Some(gpu::Partial::Limit));
}

#[test]
fn devices_and_rates() {
    let machine = gpu::devices(Some(gpu_try())).unwrap_or_else(|error| panic!("{error}"));
    assert!(!machine.devices.is_empty(), "{machine:#?}");
    gpu::rates(0, &options()).unwrap_or_else(|error| panic!("{error}"));
}

/// More memory than there is, in the second of two processes.
#[test]
fn too_much_memory_is_an_error() {
    let mut workload = Workload::new("memory");
    for (name, bytes) in [("small", 1 << 20), ("large", 1 << 44)] {
        let process = workload.process(name);
        let context = process.primary(0);
        let buffer = process.buffer("b", context, Memory::Device, bytes);
        process.thread("t", context).body().allocate(buffer).free(buffer);
    }
    let said = run(&workload, &options()).err().expect("it fails").to_string();
    assert!(said.contains("\"large\"") && said.contains("CUDA_ERROR_OUT_OF_MEMORY (2)"));
}

#[test]
fn memory_is_copied_between_devices() {
    let run = ran(&two_devices(), &Options { timed: true, ..options() });
    assert!(run.outcome.threads[1].max_error.is_some_and(|error| error <= 1e-5));
}

/// Figures that `examples/norm.c` prints of a length, µs.
struct Norm {
    first: f64,
    later: f64,
    on_device: f64,
}

/// `268435456 floats: first call 462 us, later ones 460.0 us; with the result on the device 11.2 us`
fn norm_of(line: &str) -> Norm {
    let mut figures = line.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).skip(1);
    let mut next = || figures.next().unwrap_or_else(|| panic!("four figures in {line}"));
    Norm { first: next(), later: next(), on_device: next() }
}

#[test]
fn a_norm_in_c_waits_for_its_kernels_in_a_copy() {
    let toolkit = std::env::var("CUDA_HOME").unwrap_or_else(|_| String::from("/usr/local/cuda"));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = std::env::temp_dir().join(format!("holdup-norm-{}", std::process::id()));
    let built = std::process::Command::new("cc")
        .arg(root.join("examples/norm.c"))
        .arg("-o")
        .arg(&program)
        .args([format!("-I{toolkit}/include"), format!("-L{toolkit}/lib64")])
        .args([format!("-Wl,-rpath,{toolkit}/lib64"), "-lcublas".into(), "-lcudart".into()])
        .status();
    assert!(built.is_ok_and(|status| status.success()), "cc and CUDA's toolkit in {toolkit} make it");
    let ran = std::process::Command::new(&program).output().expect("it runs");
    _ = std::fs::remove_file(&program);
    let text = String::from_utf8(ran.stdout).expect("figures");
    println!("{text}");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let [short, long] = [0, 1].map(|line| norm_of(text.lines().nth(line).expect("a line of each length")));
    assert!(short.first > 10.0 * short.later, "the first one loads cuBLAS's kernels");
    assert!(
        long.later > 5.0 * short.later && long.later > 10.0 * long.on_device,
        "the copy waits for kernels"
    );
    assert!(long.first < 2.0 * long.later, "they are loaded by then");
}
