//! Section 5: a norm whose scalar goes to the host, and one whose scalar stays on the device.

use crate::support::{check, row, run};
use lab::experiments::hidden_sync::{Case, Scalar};

/// Microseconds that a norm's calls take up to the wait, and the wait.
fn us(scalar: Scalar) -> (f64, f64) {
    let case = Case { scalar, ..Case::default() };
    let outcome = run(&case.workload(), "h200");
    let per_norm = |ns: u64| ns as f64 / 1e3 / case.times as f64;
    let calls = &outcome.threads[0].calls;
    let wait: u64 =
        calls.iter().filter(|call| call.name == "cuStreamSynchronize").map(|call| call.total_ns).sum();
    let all: u64 = calls.iter().map(|call| call.total_ns).sum();
    (per_norm(all - wait), per_norm(wait))
}

#[test]
fn of_two_to_the_28_floats() {
    let (host, device) = (us(Scalar::Host), us(Scalar::Device));
    check(&[
        row("host pointer: the calls", 456.8, host.0, 0.15),
        row("device pointer: the result comes later by", 447.1, device.1, 0.15),
    ]);
    // cuBLAS takes 12.8 µs, of which the driver's part, all that the model has, is two launches.
    check(&[row("device pointer: two launches", 12.8, device.0, 0.45)]);
}
