//! Runs that fail or are stopped: their errors, and that no process is left.

use crate::driver::{Standin, blas, library};
use crate::processes::processes;
use crate::support::{gpu_try, norms, single};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use workload::{Kernel, Memory, Repeat, StreamKind, Workload};

/// Message of a run that fails.
#[track_caller]
fn error(workload: &Workload, standin: &Standin) -> String {
    let error = gpu::run(workload, &standin.options()).err().expect("it fails").to_string();
    assert!(!error.contains('\n'), "{error}");
    assert_nobody_is_left(standin);
    error
}

/// Asserts that no process that called the stand-in runs.
#[track_caller]
fn assert_nobody_is_left(standin: &Standin) {
    for (pid, ..) in standin.log() {
        assert!(!Path::new("/proc").join(&pid).exists(), "process {pid} is left");
    }
}

fn launches() -> Workload {
    processes(2, |number, thread, stream| {
        thread.body().launch(Kernel::Empty, 1, 1, stream);
        // One would go on for long.
        thread.repeat =
            if number == 0 { Repeat::Times(10) } else { Repeat::lasting(Duration::from_secs(60)) };
    })
}

#[test]
fn the_error_of_a_call_has_its_place() {
    let workload = single("memory", |process| {
        let context = process.primary(0);
        let buffers = ["one", "two"].map(|name| process.buffer(name, context, Memory::Device, 1 << 20));
        let thread = process.thread("eater", context);
        thread.before().allocate(buffers[0]).repeat(1, |steps| {
            steps.allocate(buffers[1]);
        });
        thread.body().synchronize_context();
        thread.after().free(buffers[0]).free(buffers[1]);
    });
    let standin = Standin::new().with("STANDIN_FAIL", "cuMemAlloc_v2 2 2");
    assert_eq!(
        error(&workload, &standin),
        "process \"main\", thread \"eater\", step 2.1 of before: cuMemAlloc fails with CUDA_ERROR_OUT_OF_MEMORY (2); \
         make the buffers smaller, or end other programs that use the GPU's memory (nvidia-smi)"
    );
}

#[test]
fn a_missing_or_failing_cublas_is_an_error() {
    let of = |library: &str| Standin::new().with(gpu::BLAS_VARIABLE, library);
    assert_eq!(
        error(&norms(), &of("/nowhere/libcublas.so")),
        "cuBLAS: cannot load /nowhere/libcublas.so: install the CUDA toolkit, or name the library in HOLDUP_LIBCUBLAS"
    );
    assert_eq!(
        error(&norms(), &of(&library(false).display().to_string())),
        "cuBLAS: the library has no cublasCreate_v2: name another in HOLDUP_LIBCUBLAS"
    );
    assert_eq!(
        error(&norms(), &of(&blas().display().to_string()).with("STANDIN_CUBLAS", "13")),
        "process \"main\", thread \"norms\", step 2 of body: cublasSnrm2 fails with status 13 (cublas_api.h lists them)"
    );
}

#[test]
fn a_lost_device_ends_every_process() {
    let standin = Standin::new().with("STANDIN_FAIL", "cuLaunchKernel 7 719");
    let began = Instant::now();
    let said = error(&launches(), &standin);
    let what = "step 1 of body: cuLaunchKernel fails with CUDA_ERROR_LAUNCH_FAILED (719); the kernel broke the context";
    assert!(said.contains(what), "{said}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_process_that_dies_ends_the_others() {
    let standin = Standin::new().with("STANDIN_FAIL", "cuLaunchKernel 7 -1");
    let said = error(&launches(), &standin);
    assert!(said.starts_with("process \"p") && said.contains("was ended by signal 6"), "{said}");
}

#[test]
fn a_missing_driver_or_device_is_an_error() {
    let workload = launches();
    let nothing = Standin::with_library(Path::new("/nonexistent/libcuda.so.1"));
    let said = error(&workload, &nothing);
    assert!(said.starts_with("/nonexistent/libcuda.so.1: CUDA driver not found: cannot open"), "{said}");
    let cases = [
        (
            "STANDIN_DEVICES",
            "0",
            "cuInit fails with CUDA_ERROR_NO_DEVICE (100); no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES",
        ),
        (
            "STANDIN_VERSION",
            "10020",
            "holdup needs a driver for CUDA 11.0 or later, this one is for CUDA 10.2: update NVIDIA's driver",
        ),
        (
            "STANDIN_FAIL",
            "cuInit 1 803",
            "cuInit fails with an unknown error (803); the library and the kernel module are of different drivers: restart, or load the right module",
        ),
    ];
    for (name, value, expected) in cases {
        assert_eq!(error(&workload, &Standin::new().with(name, value)), expected);
    }
    let elsewhere = single("elsewhere", |process| {
        let context = process.primary(7);
        process.thread("t", context).body().synchronize_context();
    });
    assert_eq!(
        error(&elsewhere, &Standin::new()),
        "process \"main\": no device 7, only 2: check CUDA_VISIBLE_DEVICES, or use another device"
    );
}

fn pool(device: u32) -> Workload {
    single("pool", |process| {
        let context = process.primary(device);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let buffer = process.buffer("b", context, Memory::Pool, 64);
        let thread = process.thread("t", context);
        thread.body().allocate_on(buffer, stream).free_on(buffer, stream);
    })
}

#[test]
fn missing_memory_pools_are_an_error() {
    let place = "process \"main\", thread \"t\", step 1 of body: ";
    assert_eq!(
        error(&pool(1), &Standin::new()),
        format!("{place}the device has no memory pools: use device memory")
    );
    let old = Standin::with_library(library(true)).with("STANDIN_VERSION", "11010");
    assert_eq!(
        error(&pool(0), &old),
        format!(
            "{place}cuMemAllocAsync needs a driver for CUDA 11.2 or later, this one is for CUDA 11.1: \
             update NVIDIA's driver"
        )
    );
}

#[test]
fn an_impossible_workload_starts_nothing() {
    let mut workload = launches();
    workload.connections = Some(99);
    let standin = Standin::new();
    assert!(error(&workload, &standin).contains("processes"));
    assert!(standin.log().is_empty());
}

#[test]
fn a_time_limit_makes_a_run_partial() {
    let standin = Standin::new();
    let limit = Some(Duration::from_millis(300));
    let run = gpu::run(&launches(), &gpu::Options { limit, timed: true, ..standin.options() });
    let run = run.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.partial, Some(gpu::Partial::Limit));
    let [done, stopped] = &run.outcome.threads[..] else { panic!("two threads") };
    assert_eq!((done.rounds, done.calls[0].count), (10, 10));
    assert!(stopped.rounds > 10 && stopped.elapsed_ns < 20_000_000_000, "{stopped:?}");
    assert!(run.notes.is_empty(), "{:?}", run.notes);
    assert_nobody_is_left(&standin);
}

/// Starts `gpu_try run` and waits until so many calls of a function were made.
fn start(workload: &Workload, standin: &Standin, function: &str, count: usize) -> Child {
    let mut command = standin.command(&["run", "timed"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gpu_try starts");
    let text = serde_json::to_vec(workload).expect("it is data");
    child.stdin.take().expect("it is piped").write_all(&text).expect("gpu_try reads");
    await_calls(standin, function, count);
    child
}

/// Waits until so many calls of a function were made.
fn await_calls(standin: &Standin, function: &str, count: usize) {
    let calls = || standin.log().iter().filter(|(_, _, call)| call.starts_with(function)).count();
    await_that(function, || calls() >= count);
}

/// Waits for a condition, twenty seconds at most.
fn await_that(what: &str, holds: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < patience, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn signals_stop_a_run_and_keep_its_measurements() {
    for (signal, word) in
        [(libc::SIGINT, "partial: interrupted"), (libc::SIGTERM, "partial: stopped by signal 15")]
    {
        let standin = Standin::new();
        let child = start(&launches(), &standin, "cuLaunchKernel", 50);
        // A second call of each process: its first round is done.
        await_that("both processes work", || {
            let mut calls = BTreeMap::<String, usize>::new();
            for (pid, _, call) in standin.log() {
                *calls.entry(pid).or_default() += usize::from(call.starts_with("cuLaunchKernel"));
            }
            calls.values().filter(|calls| **calls >= 2).count() == 2
        });
        // SAFETY: takes no pointer; the child was not waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.starts_with(word), "{said}");
        assert!(said.matches("cuLaunchKernel").count() == 2 && !said.contains("rounds: 0,"), "{said}");
        assert_nobody_is_left(&standin);
    }
}

#[test]
fn a_call_that_never_returns_is_ended_with_its_process() {
    let standin = Standin::new().with("STANDIN_FAIL", "cuStreamSynchronize 1 -2");
    let workload = processes(1, |_, thread, stream| {
        thread.body().launch(Kernel::Empty, 1, 1, stream).synchronize(stream);
    });
    let child = start(&workload, &standin, "cuStreamSynchronize", 1);
    // SAFETY: as above.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("note: process \"p0\" did not stop and was killed, its calls are lost"), "{said}");
    assert_nobody_is_left(&standin);
}

#[test]
fn asking_for_devices_can_be_interrupted() {
    for (signal, how) in [(libc::SIGINT, "interrupted"), (libc::SIGTERM, "stopped by signal 15")] {
        let standin = Standin::new().with("STANDIN_FAIL", "cuInit 1 -2");
        let mut command = standin.command(&["devices"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("gpu_try starts");
        await_calls(&standin, "cuInit", 1);
        // SAFETY: as above.
        unsafe { libc::kill(child.id() as i32, signal) };
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, format!("{how} while the driver was asked for its devices\n"));
        assert_eq!(output.status.code(), Some(1));
        assert_nobody_is_left(&standin);
    }
}

#[test]
fn processes_end_with_their_parent() {
    let standin = Standin::new();
    let mut child = start(&launches(), &standin, "cuLaunchKernel", 50);
    child.kill().and_then(|()| child.wait()).expect("it ends");
    let patience = Instant::now() + Duration::from_secs(20);
    let left = || standin.log().iter().any(|(pid, ..)| is_alive(pid));
    while left() {
        assert!(Instant::now() < patience, "processes outlive holdup");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process runs; without a parent that waits it may stay as a zombie.
fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !matches!(status.rsplit(") ").next().and_then(|rest| rest.chars().next()), None | Some('Z' | 'X'))
}

#[test]
fn only_holdup_starts_processes_of_a_workload() {
    let output = std::process::Command::new(gpu_try()).args(["__holdup-gpu-process", "x"]).output();
    let output = output.expect("gpu_try starts");
    assert_eq!(output.status.code(), Some(2));
}
