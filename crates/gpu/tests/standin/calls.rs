//! What the driver is asked for each step, and what comes back.

use crate::driver::{Standin, assert_is};
use crate::support::{every_call, kernels, two_devices};

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
fn what_one_device_has_is_copied_to_another() {
    let standin = Standin::new();
    let run = gpu::run(&two_devices(), &standin.options()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.outcome.threads[1].max_error, Some(0.0));
    assert!(standin.calls("t0").contains("cuMemcpyAsync 1048576 1\n"));
}
