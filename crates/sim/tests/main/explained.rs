//! Findings of `explain` in simulated traces: it names the culprits.

use crate::support::{traced, without_locks};
use experiments::catalogue::interference::{self, Repeated};
use experiments::catalogue::{launch_stall, stagger};
use experiments::{HostMemory, Place};
use explain::{Cause, Confidence, Detail, Evidence, Finding, Loss, Options, explain, explain_each};
use std::time::Duration;
use trace::{CopyKind, MemoryKind, OpKind, Trace};

/// The finding that says that `waiter`'s calls lost most to a lock.
fn worst(trace: &Trace, waiter: &str, call: &str) -> Finding {
    let findings = explain(trace, &Options::default()).findings;
    let mine = |finding: &Finding| finding.waiter.thread == waiter && finding.waiter.call == call;
    let finding = findings.into_iter().filter(mine).max_by_key(|finding| finding.lost_ns);
    finding.expect("the calls lost time")
}

/// Checks cause, evidence and holder of a finding that is certain.
fn blames(finding: &Finding, cause: Cause, thread: &str, call: &str) {
    assert_eq!(finding.cause, cause);
    assert_eq!((finding.evidence, finding.confidence), (Evidence::Lock, Confidence::Certain));
    let holder = finding.holder.as_ref().unwrap();
    assert_eq!((holder.thread.as_str(), holder.call.as_str()), (thread, call));
}

#[test]
fn a_launch_waits_for_the_copy_that_holds_the_lock() {
    // A touches its memory first, 65,536 pages, while B launches.
    let time = Duration::from_millis(1_000);
    let case = launch_stall::Case { memory: HostMemory::Pageable, time, ..Default::default() };
    let finding = worst(&traced(&case.workload(), "h200"), "B", "cuLaunchKernel");
    blames(&finding, Cause::DriverLock, "A", "cuMemcpyDtoHAsync");
    let (kind, host) = (CopyKind::DtoH, MemoryKind::Pageable);
    let copied = Detail::Copies { kind, host, least: 1 << 28, most: 1 << 28, stream: Some(7) };
    assert_eq!(finding.holder.as_ref().unwrap().detail, copied);
    assert!(finding.share > 0.9, "{}", finding.share);
    assert!(finding.fixes.iter().any(|fix| fix.id == "own-stream"));
}

#[test]
fn a_launch_with_its_own_stream_does_not_wait() {
    let time = Duration::from_millis(200);
    let place = Place::OwnStream;
    let case = launch_stall::Case { memory: HostMemory::Pageable, place, time, ..Default::default() };
    let findings = explain(&traced(&case.workload(), "h200"), &Options::default()).findings;
    let lost = |finding: &&Finding| finding.waiter.call == "cuLaunchKernel" && finding.share > 0.001;
    assert!(findings.iter().find(lost).is_none());
}

#[test]
fn a_launch_waits_for_the_free_that_waits_for_the_device() {
    let case = interference::Case { repeated: Repeated::AllocateBusy, ..Default::default() };
    let trace = traced(&case.workload(), "h200");
    blames(&worst(&trace, "B", "cuLaunchKernel"), Cause::DriverLock, "A", "cuMemFree");
    assert_eq!(worst(&trace, "A", "cuMemFree").cause, Cause::ImplicitDeviceSync);
}

/// Checks a part of a call's time that is longer than 100 ms; the error says why its culprit is wrong.
fn check_culprit(trace: &Trace, loss: &Loss) -> Result<(), &'static str> {
    let call = trace.text(trace.calls.name[loss.call]);
    let own_kernel = || {
        let op = loss.awaited.some().map(|op| trace.ops.row(op));
        op.is_some_and(|op| op.kind == OpKind::Kernel && trace.calls.thread[op.call] == loss.thread)
    };
    let held = || {
        // Of a lock that went through several hands, records have the first and the last holder. Of the time between
        // no thread is blamed.
        let Some(holder) = loss.holder_call.some() else { return loss.confidence == Confidence::Possible };
        let (start, end) = (trace.calls.start[holder], trace.calls.end[holder]);
        end.min(loss.end) - start.max(loss.start) >= (loss.end - loss.start) / 3
    };
    match (call, loss.cause) {
        ("cuDevicePrimaryCtxRetain", Cause::FirstUse) => Ok(()),
        ("cuMemFree", Cause::ImplicitDeviceSync) => {
            let named = loss.awaited.some().is_some_and(|op| trace.ops.kind[op] == OpKind::Kernel);
            named.then_some(()).ok_or("a free waits for a kernel")
        }
        ("cuMemcpyDtoHAsync", Cause::HiddenSync) => {
            own_kernel().then_some(()).ok_or("a copy waits for its own kernel")
        }
        ("cuMemcpyDtoHAsync" | "cuMemcpyHtoDAsync", Cause::PageableOrder | Cause::DriverLock)
        | ("cuLaunchKernel", Cause::DriverLock) => {
            held().then_some(()).ok_or("the holder covers a third of it")
        }
        ("cuStreamSynchronize", Cause::ExplicitSync) => Ok(()),
        _ => Err("the cause does not fit the call"),
    }
}

/// Seed 000's second program, where every wait over 100 ms is known: in both orders of memory and with the stream
/// synchronized before, as the model records it and as a tool without lock records would.
#[test]
fn every_long_wait_of_the_staggered_threads_has_a_holder() {
    let cases = [(HostMemory::Pageable, false), (HostMemory::Pageable, true), (HostMemory::Pinned, false)];
    for (model, (memory, sync)) in
        ["p100", "p100-nvprof", "h200"].into_iter().flat_map(|model| cases.map(|case| (model, case)))
    {
        let recorded = traced(&stagger::Case { memory, sync, ..Default::default() }.workload(), model);
        for trace in [without_locks(&recorded), recorded] {
            let (explanation, losses) = explain_each(&trace, &Options::default());
            let what = format!("{model}, {memory:?}, sync {sync}, locks {}", trace.meta.locks_watched);
            let long: Vec<_> = losses.iter().filter(|loss| loss.lost_ns > 100_000_000).collect();
            assert!(long.len() >= 4, "{what}: {} long waits", long.len());
            for loss in long {
                let call = trace.text(trace.calls.name[loss.call]);
                let thread = trace.text(trace.threads.name[loss.thread]);
                let ms = loss.lost_ns / 1_000_000;
                if let Err(why) = check_culprit(&trace, loss) {
                    panic!("{what}: {why}, but {ms} ms of {thread}'s {call}: {loss:?}");
                }
            }
            let unexplained =
                |finding: &Finding| finding.cause == Cause::Unexplained && finding.max_ns > 100_000_000;
            assert!(!explanation.findings.iter().any(unexplained), "{what}: a long wait is unexplained");
        }
    }
}
