//! The reproduction of a case shows the first finding of its trace on the model, and so does the extract.

use crate::support::{case, example, explained, traced};
use case::NoCase;
use experiments::catalogue::multi_gpu;
use explain::Cause;
use std::io::Cursor;
use std::time::Duration;
use trace::Trace;
use workload::{Kernel, Memory, Repeat, StreamKind, Workload};

/// Checks that the first finding has a cause in the trace, in the run of the reproduction as it is written, and in the extract as it is
/// written. Returns the number of GPUs of the reproduction.
#[track_caller]
fn shows(trace: &Trace, cause: Cause) -> u32 {
    let made = case(trace).unwrap_or_else(|problem| panic!("no case: {problem:?}"));
    assert_eq!(made.finding().cause, cause);
    let reproduction = made.reproduction.as_ref().expect("there is one");
    assert!(reproduction.shown.is_first, "{:?}: {:?}", reproduction.shown.first, reproduction.shown.error);

    // As who gets the files finds it.
    let text = case::show::toml(&made, reproduction);
    let workload = Workload::from_toml(text.as_bytes(), "reproduction.toml").expect("it can be read");
    assert_eq!(workload, reproduction.workload);
    let ran = traced(&workload, &reproduction.model);
    assert_eq!(explained(&ran).0.findings.first().map(|first| first.cause), Some(cause));
    let (start, end) = ran.span().expect("it ran");
    assert!(end - start < 8_000_000_000, "a few seconds at most: {} ms", (end - start) / 1_000_000);

    let mut file = Cursor::new(Vec::new());
    trace::write(&made.extract.trace, &mut file).expect("memory");
    let extract = trace::read(file.into_inner()).expect("it can be read");
    assert_eq!(explained(&extract).0.findings.first().map(|first| first.cause), Some(cause));
    reproduction.gpus
}

#[test]
fn a_pageable_copy_that_delays_launches() {
    shows(&example("recorded-d2h-stall.holdup"), Cause::DriverLock);
}

#[test]
fn a_scalar_that_is_read_back() {
    shows(&example("recorded-norm-hidden-sync.holdup"), Cause::HiddenSync);
}

#[test]
fn copies_that_take_turns() {
    shows(&example("recorded-staggered-copies.holdup"), Cause::PageableOrder);
}

#[test]
fn launches_to_ten_gpus_are_shown_on_one() {
    let threads =
        multi_gpu::Case { workers: 10, gpus: 10, times: 300, ..multi_gpu::Case::default() }.workload();
    let trace = traced(&threads, "a4000x10");
    assert_eq!(shows(&trace, Cause::DriverLock), 1);
}

/// A workload of one process whose threads each do this until a time has passed.
fn threads(count: u32, fill: impl Fn(&mut workload::Process, u32) -> workload::Thread) -> Workload {
    let mut workload = Workload::new("made up");
    let process = workload.process("secret process");
    for number in 0..count {
        let thread = fill(process, number);
        process.threads.push(thread);
    }
    workload
}

/// A thread with these timed steps.
fn thread(
    process: &mut workload::Process,
    number: u32,
    fill: impl FnOnce(&mut workload::Process, &mut workload::Thread),
) -> workload::Thread {
    let context = process.primary(0);
    let name = format!("secret thread {number}");
    process.thread(name, context);
    let mut thread = process.threads.pop().expect("it was just added");
    fill(process, &mut thread);
    thread.repeat = Repeat::lasting(Duration::from_millis(200));
    thread
}

#[test]
fn streams_that_share_a_hardware_queue() {
    let workload = threads(20, |process, number| {
        thread(process, number, |process, thread| {
            let stream = process.stream(format!("s{number}"), thread.context, StreamKind::NonBlocking);
            thread.before().launch(Kernel::Delay { cycles: 1 }, 1, 32, stream).synchronize(stream);
            let long = Kernel::Delay { cycles: 400_000 };
            thread.body().launch(long.clone(), 1, 32, stream).launch(long, 1, 32, stream).synchronize(stream);
        })
    });
    shows(&traced(&workload, "h200"), Cause::ConnectionAliasing);
}

#[test]
fn an_allocation_in_the_loop() {
    let workload = threads(1, |process, number| {
        thread(process, number, |process, thread| {
            let stream = process.stream("s", thread.context, StreamKind::NonBlocking);
            let buffer = process.buffer("b", thread.context, Memory::Device, 512 << 20);
            thread.before().launch(Kernel::Delay { cycles: 1 }, 1, 32, stream).synchronize(stream);
            thread.body().allocate(buffer).launch(Kernel::Delay { cycles: 20_000 }, 132, 256, stream);
            thread.body().synchronize(stream).free(buffer);
        })
    });
    shows(&traced(&workload, "h200"), Cause::Allocation);
}

#[test]
fn a_gpu_that_is_always_busy_has_no_other_finding_in_its_reproduction() {
    let workload = threads(1, |process, number| {
        thread(process, number, |process, thread| {
            let stream = process.stream("s", thread.context, StreamKind::NonBlocking);
            thread.before().launch(Kernel::Delay { cycles: 1 }, 1, 32, stream).synchronize(stream);
            thread.body().repeat(20, |steps| {
                steps.launch(Kernel::Delay { cycles: 2_000_000 }, 132, 1024, stream);
            });
            thread.body().synchronize(stream);
        })
    });
    let trace = traced(&workload, "h200");
    let busy = explained(&trace).0.verdict.gpu_busy_share.expect("it has operations");
    assert!(busy > 0.95, "{busy}");
    match case(&trace) {
        // Nothing holds it up.
        Err(NoCase::Nothing) => {}
        Err(problem) => panic!("{problem:?}"),
        Ok(made) => {
            let first = made.finding().cause;
            let reproduction = made.reproduction.expect("there is one");
            assert_eq!(reproduction.shown.first, Some(first));
            let run = explained(&traced(&reproduction.workload, "h200")).0;
            assert!(run.verdict.gpu_busy_share.is_some_and(|busy| busy > 0.95), "{:?}", run.verdict);
        }
    }
}

#[test]
fn a_cause_that_no_step_makes_is_not_claimed() {
    // The program ran with CUDA_LAUNCH_BLOCKING, which a workload does not have.
    let made = case(&example("recorded-blocking-launches.holdup")).expect("there is one");
    assert_eq!(made.finding().cause, Cause::BlockingLaunch);
    let report = case::show::markdown(&made);
    assert!(report.contains("The reproduction does not show it on the model h200"), "{report}");
}
