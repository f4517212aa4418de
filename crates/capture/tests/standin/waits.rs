//! Waits for locks: the thread that waited, the library of the lock, the thread that held it and the one that released it.

use crate::compile::Binding;
use crate::recording::{Process, Row};
use crate::run::{Program, Recorded};
use spool::{Call, Level, Lock, Mode, Wait};

const DRIVER: &str = "libcuda.so.1";
const OTHER: &str = "libother.so";

/// The ways in which a program gets at the driver, times the ways in which that is built.
fn every_way(scenario: &str, check: &dyn Fn(&Recorded)) {
    let programs = [
        Program::linked(Binding::Lazy, "waits", scenario),
        Program::linked(Binding::Now, "waits", scenario),
        Program::looking_up("waits", scenario),
        Program::looking_up("waits", scenario).with("STANDIN_BIND", "address"),
    ];
    for program in programs {
        let recorded = program.with(spool::VAR_LOCKS, "libother").both();
        assert_eq!(recorded.outcome.code, Some(0), "{:?}", recorded.outcome);
        check(&recorded);
    }
}

/// The only wait.
fn only(process: &Process) -> &Row<Wait> {
    match process.waits.as_slice() {
        [only] => only,
        several => panic!("{} waits: {several:?}", several.len()),
    }
}

/// The wait lies within a call of the waiter, and lasted at least so long.
fn within_call(process: &Process, wait: &Row<Wait>, function: &str, least_ms: i64) {
    let record = &wait.record;
    let call = call_of(process, wait.tid, record.function, record.since, function);
    assert!(call.record.start <= record.start && record.end <= call.record.end, "{call:?} {record:?}");
    assert!(record.end - record.start >= least_ms * 1_000_000, "{record:?}");
}

/// The call that `tid` made of `name` and that began at `since`; `function` is its text. Who looks a
/// function up by address asks for it without its version.
fn call_of<'a>(process: &'a Process, tid: u32, function: u32, since: i64, name: &str) -> &'a Row<Call> {
    let text = process.text(function);
    assert_eq!(text.trim_end_matches("_v2"), name);
    let calls = process.calls_of(&text);
    let made = calls.into_iter().find(|call| call.record.start == since && call.tid == tid);
    made.unwrap_or_else(|| panic!("{tid} made no {name} at {since}"))
}

/// Holder and releaser of a lock that one thread held all the time, in one call.
fn held_by(process: &Process, record: &Wait, holder: u64, name: &str) {
    assert_eq!((u64::from(record.holder), u64::from(record.releaser)), (holder, holder));
    let held = call_of(process, record.holder, record.holder_function, record.holder_since, name);
    let gone = call_of(process, record.releaser, record.releaser_function, record.releaser_since, name);
    assert_eq!(held.record, gone.record);
    assert!(held.record.start <= record.start && record.start < held.record.end);
}

/// Library, lock and how it was wanted.
fn is_for(wait: &Row<Wait>, library: &str, lock: u64, kind: Lock, mode: Mode) {
    let record = &wait.record;
    assert_eq!((wait.name.as_str(), record.lock), (library, lock));
    assert_eq!((record.kind, record.mode), (kind as u32, mode as u32));
}

#[test]
fn a_launch_behind_a_copy_names_the_copying_thread() {
    every_way("reader-behind-writer", &|recorded| {
        let process = recorded.process();
        let wait = only(process);
        is_for(wait, DRIVER, recorded.fact("api"), Lock::Rwlock, Mode::Shared);
        assert_eq!((u64::from(wait.tid), wait.record.holders), (recorded.fact("waiter"), 1));
        within_call(process, wait, "cuLaunchKernel", 5);
        held_by(process, &wait.record, recorded.fact("holder"), "cuMemcpyDtoHAsync");
    });
}

#[test]
fn at_level_calls_a_wait_names_calls_that_only_cupti_records() {
    let recorded = Program::looking_up("waits", "reader-behind-writer").at_level("calls").both();
    let process = recorded.process();
    let record = &only(process).record;
    assert_eq!(process.level, Some(Level::Calls));
    assert_eq!(process.text(record.function), "cuLaunchKernel");
    assert_eq!(u64::from(record.holder), recorded.fact("holder"));
    for (function, since) in
        [(record.holder_function, record.holder_since), (record.releaser_function, record.releaser_since)]
    {
        assert_eq!(process.text(function), "cuMemcpyDtoHAsync_v2");
        assert!(since < record.start);
    }
}

#[test]
fn a_copy_behind_a_copy_waits_to_be_alone() {
    every_way("writer-behind-writer", &|recorded| {
        let process = recorded.process();
        let wait = only(process);
        is_for(wait, DRIVER, recorded.fact("api"), Lock::Rwlock, Mode::Exclusive);
        assert_eq!((u64::from(wait.tid), wait.record.holders), (recorded.fact("waiter"), 1));
        within_call(process, wait, "cuMemcpyDtoHAsync", 5);
        held_by(process, &wait.record, recorded.fact("holder"), "cuMemcpyDtoHAsync");
    });
}

#[test]
fn a_copy_behind_launches_counts_them_and_names_the_last_to_let_go() {
    every_way("writer-behind-readers", &|recorded| {
        let process = recorded.process();
        let wait = only(process);
        let (record, readers) = (&wait.record, recorded.facts("reader"));
        is_for(wait, DRIVER, recorded.fact("api"), Lock::Rwlock, Mode::Exclusive);
        assert_eq!((u64::from(wait.tid), record.holders), (recorded.fact("waiter"), 3));
        within_call(process, wait, "cuMemcpyDtoHAsync", 0);
        assert_eq!((u64::from(record.holder), u64::from(record.releaser)), (readers[0], readers[1]));
        call_of(process, record.holder, record.holder_function, record.holder_since, "cuLaunchKernel");
        call_of(process, record.releaser, record.releaser_function, record.releaser_since, "cuLaunchKernel");
    });
}

#[test]
fn a_mutex_is_told_from_a_rwlock() {
    every_way("mutex", &|recorded| {
        let process = recorded.process();
        let wait = only(process);
        is_for(wait, DRIVER, recorded.fact("memory"), Lock::Mutex, Mode::Exclusive);
        assert_eq!((u64::from(wait.tid), wait.record.holders), (recorded.fact("waiter"), 1));
        within_call(process, wait, "cuMemFree", 2);
        held_by(process, &wait.record, recorded.fact("holder"), "cuMemAlloc");
    });
}

#[test]
fn locks_that_are_free_leave_no_waits() {
    every_way("uncontended", &|recorded| {
        let process = recorded.process();
        assert_eq!(process.waits.len(), 0);
        // Of a program that is linked with the driver, cuInit is over before it could be wrapped.
        let calls = process.calls.iter().filter(|call| call.name != "cuInit");
        assert_eq!(calls.count(), 4 * 400);
    });
}

/// A wait in a library with locks of its own, by a thread in no call for one in no call.
fn is_others(recorded: &Recorded, wait: &Row<Wait>, kind: Lock) {
    let record = &wait.record;
    assert_eq!((wait.name.as_str(), u64::from(wait.tid)), (OTHER, recorded.fact("waiter")));
    assert_eq!((record.kind, record.mode), (kind as u32, Mode::Exclusive as u32));
    assert_eq!((record.holders, u64::from(record.holder)), (1, recorded.fact("holder")));
    assert_eq!((record.function, record.holder_function, record.releaser_function), (0, 0, 0));
}

#[test]
fn another_librarys_lock_is_told_from_the_drivers() {
    every_way("both-libraries", &|recorded| {
        let process = recorded.process();
        let [other, driver] = process.waits.as_slice() else { panic!("{:?}", process.waits) };
        let [holds_other, holds_driver] = recorded.facts("holder") else { panic!("{:?}", recorded.facts) };
        assert_eq!((other.name.as_str(), other.record.lock), (OTHER, recorded.fact("other")));
        assert_eq!(u64::from(other.record.holder), *holds_other);
        assert_eq!((other.record.function, other.record.holder_function), (0, 0));
        is_for(driver, DRIVER, recorded.fact("api"), Lock::Rwlock, Mode::Shared);
        held_by(process, &driver.record, *holds_driver, "cuMemcpyDtoHAsync");
    });
}

#[test]
fn a_wait_that_is_given_up_has_no_releaser() {
    every_way("other-timeout", &|recorded| {
        let wait = recorded.process().waits.first().expect("the one that was given up");
        is_others(recorded, wait, Lock::Mutex);
        assert_eq!((wait.record.releaser, wait.record.lock), (0, recorded.fact("other")));
    });
}

#[test]
fn the_holder_of_a_lock_that_was_taken_early_is_known() {
    every_way("taken-early", &|recorded| {
        let wait = only(recorded.process());
        is_others(recorded, wait, Lock::Mutex);
        assert_eq!(u64::from(wait.record.releaser), recorded.fact("holder"));
    });
}

#[test]
fn a_spin_lock_is_a_lock_too() {
    every_way("spin", &|recorded| {
        let wait = only(recorded.process());
        is_others(recorded, wait, Lock::Spin);
        assert_eq!(u64::from(wait.record.releaser), recorded.fact("holder"));
    });
}

#[test]
fn libraries_that_are_not_listed_are_not_watched() {
    let program =
        Program::linked(Binding::Lazy, "waits", "both-libraries").with(spool::VAR_LOCKS, "libothers:");
    let recorded = program.both();
    let wait = only(recorded.process());
    assert_eq!(wait.name, DRIVER);
}
