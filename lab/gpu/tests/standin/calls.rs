//! The calls of the driver for each step, and their results.

use crate::driver::{Standin, assert_is, blas};
use crate::processes::ran;
use crate::support::{self, every_call, kernels, two_devices};

#[test]
fn every_call_reaches_the_driver_in_order() {
    let (standin, workload) = (Standin::new(), every_call());
    let run = gpu::run(&workload, &standin.options()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((run.partial, run.outcome.threads[0].rounds), (None, 2));
    assert_eq!(run.outcome.threads[0].max_error, Some(0.0));
    assert_is("every-call", &standin.calls("all"));
}

#[test]
fn every_kernel_gets_its_arguments() {
    let standin = Standin::new();
    let run = gpu::run(&kernels(), &standin.options()).unwrap_or_else(|error| panic!("{error}"));
    for (thread, outcome) in kernels().processes[0].threads.iter().zip(&run.outcome.threads) {
        // The product's norm is a sum of floats, some 27,000.
        let allowed = if thread.name == "product" { 0.05 } else { 0.0 };
        assert!(outcome.max_error.is_some_and(|error| error <= allowed), "{}: {outcome:?}", thread.name);
    }
}

#[test]
fn memory_is_copied_between_devices() {
    let standin = Standin::new();
    let run = gpu::run(&two_devices(), &standin.options()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.outcome.threads[1].max_error, Some(0.0));
    assert!(standin.calls("t0").contains("cuMemcpyAsync 1048576 1\n"));
}

#[test]
fn rows_and_slices_with_gaps_are_copied_both_ways() {
    for (slices, calls) in [
        (None, ["cuMemcpy2DAsync_v2 64x8 1/64 2/160", "cuMemcpy2DAsync_v2 64x8 2/160 1/64"]),
        (Some(3), ["cuMemcpy3DAsync_v2 64x8x3 1/64/8 2/160/8", "cuMemcpy3DAsync_v2 64x8x3 2/160/8 1/64/8"]),
    ] {
        let standin = Standin::new();
        let run = ran(&support::rows(slices), &standin);
        assert_eq!(run.outcome.threads[0].max_error, Some(0.0), "{slices:?}");
        let log = standin.calls("rows");
        let copies: Vec<&str> = log.lines().filter(|call| call.contains("DAsync_v2 64x")).collect();
        assert_eq!(copies, calls);
    }
}

#[test]
fn a_norm_of_cublas_reaches_host_or_device_and_is_timed() {
    let standin = Standin::new().with(gpu::BLAS_VARIABLE, &blas().display().to_string());
    let options = gpu::Options { timed: true, ..standin.options() };
    let run = gpu::run(&support::norms(), &options).unwrap_or_else(|error| panic!("{error}"));
    let thread = &run.outcome.threads[0];
    assert_eq!(thread.max_error, Some(0.0));
    let norms = thread.calls.iter().find(|call| call.name == "cublasSnrm2").expect("they are timed");
    assert_eq!(norms.count, 2);
}

#[test]
fn the_time_between_events_is_a_mean() {
    let run = ran(&support::every_call(), &Standin::new());
    // The stand-in's second record comes a quarter of a millisecond after the first, in both rounds.
    assert_eq!(run.outcome.threads[0].between_events_ns, Some(250_000));
    assert_eq!(ran(&support::rows(None), &Standin::new()).outcome.threads[0].between_events_ns, None);
}
