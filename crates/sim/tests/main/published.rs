//! Models of GPUs that little was measured on: what the seeds say of them.

use crate::support::{Row, check, row, run, traced};
use experiments::catalogue::architectures;
use experiments::catalogue::hidden_sync::{Case, Scalar};
use experiments::{HostMemory, Layout};
use trace::{CopyKind, OpKind};

/// Seed 003: a norm of 1,024 floats on its V100, whose kernels took 7.15 µs each and whose copies of a few bytes 1.91 µs in and 1.19
/// out, as the GPU's records have it; the workload copies out only.
#[test]
fn a_norm_on_v100() {
    let case = Case { scalar: Scalar::Host, length: 1024, ..Case::default() };
    let trace = traced(&case.workload(), "v100");
    let us = |wanted: &dyn Fn(&trace::Op) -> bool| {
        let ops = trace.ops.ids().map(|id| trace.ops.row(id)).filter(wanted);
        let (sum, count) = ops.fold((0, 0), |(sum, count), op| (sum + op.end - op.start, count + 1));
        sum as f64 / 1e3 / f64::from(count)
    };
    let model = sim::Model::load("v100").unwrap();
    check(&[
        row("a kernel", 7.15, us(&|op| op.kind == OpKind::Kernel), 0.05),
        row("the copy out", 1.19, us(&|op| op.copy == CopyKind::DtoH), 0.05),
        row("a copy in", 1.91, model.copies.to_device.latency_ns.unwrap() as f64 / 1e3, 0.05),
    ]);
}

/// Seed 003: 4 GiB from pageable memory took 894.8 ms, back 796.7.
#[test]
fn pageable_copies_on_v100() {
    let copies = sim::Model::load("v100").unwrap().copies;
    let ms = |mb_s: u64| (4_u64 << 30) as f64 / 1e3 / mb_s as f64;
    check(&[
        row("in", 894.8, ms(copies.to_device.pageable_mb_s), 0.01),
        row("back", 796.7, ms(copies.to_host.pageable_mb_s), 0.01),
    ]);
}

/// Iterations a second of the program of seed 000's plot.
fn per_s(model: &str, case: &architectures::Case) -> f64 {
    let outcome = run(&case.workload(), model);
    let elapsed: u64 = outcome.threads.iter().map(|thread| thread.elapsed_ns).sum();
    let workers = f64::from(case.workers);
    1e9 / elapsed as f64 * case.iterations as f64 * workers * workers
}

/// Question A of seed 000: a synchronization before a pageable copy back helps, because the copy then delays no thread while it waits;
/// on the plot's machine clearly.
#[test]
fn a_synchronization_before_the_copy_helps() {
    let gain = |model, workers| {
        let memory = HostMemory::Pageable;
        let case = architectures::Case { workers, memory, ..Default::default() };
        per_s(model, &architectures::Case { sync: true, ..case.clone() }) / per_s(model, &case)
    };
    for workers in [4, 8, 16] {
        let gains = ["p40", "p100", "h200"].map(|model| gain(model, workers));
        println!("{workers} threads: {gains:.2?} times as many on p40, p100, h200");
        assert!(gains[0] > 1.15 && gains[1] > 1.15, "{gains:?}");
    }
    // Measured: 1.08 with 8 threads, 1.12 to 1.14 with 16.
    let times = |low, high, workers| Row {
        what: format!("h200, {workers} threads"),
        measured: (low, high),
        simulated: gain("h200", workers),
        within: 0.15,
    };
    let rows = [times(1.07, 1.09, 8), times(1.12, 1.14, 16)];
    assert!(rows.iter().all(|row| row.simulated > 1.03));
    check(&rows);
}

/// Question B of seed 000: threads do less than as many processes under MPS, whatever the memory.
#[test]
fn threads_are_slower_than_processes_under_mps() {
    for memory in [HostMemory::Pinned, HostMemory::Pageable] {
        let case = architectures::Case { workers: 16, memory, ..Default::default() };
        let processes = architectures::Case { layout: Layout::ProcessesMps, ..case.clone() };
        let (threads, processes) = (per_s("p40", &case), per_s("p40", &processes));
        println!("{memory:?}: {threads:.0}/s from threads, {processes:.0}/s from processes");
        assert!(threads < 0.9 * processes);
    }
}
