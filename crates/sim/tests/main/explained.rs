//! What `explain` says of simulated traces: it names the culprits.

use crate::support::traced;
use explain::{Cause, Confidence, Evidence, Finding, Options, explain};
use lab::experiments::interference::{self, Repeated};
use lab::experiments::{launch_stall, stagger};
use lab::{HostMemory, Place};
use std::time::Duration;
use trace::Trace;

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
    let time = Duration::from_millis(200);
    let case = launch_stall::Case { memory: HostMemory::Pageable, time, ..Default::default() };
    let finding = worst(&traced(&case.workload(), "h200"), "B", "cuLaunchKernel");
    blames(&finding, Cause::DriverLock, "A", "cuMemcpyDtoHAsync");
    assert_eq!(finding.holder.as_ref().unwrap().detail, "DtoH pageable 268435456 B, stream 7");
    assert!(finding.share > 0.9, "{}", finding.share);
    assert!(finding.fixes.iter().any(|fix| fix.id == "own-stream"));
}

#[test]
fn with_its_own_stream_it_does_not() {
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

#[test]
fn pageable_copies_go_in_order() {
    let trace = traced(&stagger::Case::default().workload(), "h200");
    for thread in ["thread 1", "thread 2", "thread 3"] {
        let finding = worst(&trace, thread, "cuMemcpyDtoHAsync");
        blames(&finding, Cause::PageableOrder, "thread 0", "cuMemcpyDtoHAsync");
    }
    assert_eq!(worst(&trace, "thread 0", "cuMemcpyDtoHAsync").cause, Cause::HiddenSync);
}

#[test]
fn on_an_old_driver_copies_in_wait_for_the_copy_out() {
    let trace = traced(&stagger::Case::default().workload(), "p100");
    for thread in ["thread 1", "thread 2", "thread 3"] {
        let finding = worst(&trace, thread, "cuMemcpyHtoDAsync");
        assert!(matches!(finding.cause, Cause::PageableOrder | Cause::DriverLock), "{finding:?}");
        assert_eq!(finding.evidence, Evidence::Lock);
    }
}
