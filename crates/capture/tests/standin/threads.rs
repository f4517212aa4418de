//! Many threads, and more records than there is room for.

use crate::recording::Process;
use crate::run::{Outcome, Program, Recorded};
use std::collections::BTreeMap;
use std::path::Path;

fn program(scenario: &str) -> Program {
    Program::looking_up("threads", scenario).with(spool::VAR_LOCKS, "libother")
}

/// As it would be without recording, and well.
fn recorded(program: Program) -> Recorded {
    let recorded = program.both();
    let well = Outcome { stdout: "done\n".to_owned(), stderr: String::new(), code: Some(0), signal: None };
    assert_eq!(recorded.outcome, well);
    recorded
}

/// How many launches each thread made.
fn launches(process: &Process) -> BTreeMap<u64, usize> {
    let mut counts = BTreeMap::new();
    for call in process.calls_of("cuLaunchKernel") {
        *counts.entry(u64::from(call.tid)).or_insert(0) += 1;
    }
    counts
}

/// The threads of the facts made so many launches each. Ids of ended threads are used again.
fn each_launched(recorded: &Recorded, each: usize) {
    let process = recorded.process();
    let made = launches(process);
    let mut expected = BTreeMap::from([(u64::from(process.pid), 1)]);
    recorded.facts("thread").iter().for_each(|tid| *expected.entry(*tid).or_insert(0) += each);
    assert_eq!(made, expected);
}

#[test]
fn two_hundred_threads_at_once() {
    let recorded = recorded(program("two-hundred"));
    each_launched(&recorded, 50);
    assert_eq!((recorded.process().dropped, recorded.process().untracked_threads), (0, 0));
}

#[test]
fn threads_take_the_places_of_those_that_ended() {
    let recorded = recorded(program("come-and-go"));
    each_launched(&recorded, 3);
    assert_eq!((recorded.process().dropped, recorded.process().untracked_threads), (0, 0));
}

#[test]
fn threads_in_turn_take_hardly_any_mappings() {
    let recorded = recorded(program("many-in-turn"));
    each_launched(&recorded, 3);
    // 64 threads share one; a process may have 65,530.
    assert!((1..20).contains(&recorded.fact("maps")), "{}", recorded.fact("maps"));
}

#[test]
fn signals_do_not_end_the_recording() {
    let recorded = recorded(program("full").preloading("libdisk.so").with(spool::VAR_STACKS, "off"));
    assert_eq!(launches(recorded.process()).values().sum::<usize>(), 1 + 8 * 4000);
    assert_eq!((recorded.process().dropped, recorded.process().full), (0, None));
}

#[test]
fn threads_beyond_those_that_can_be_known_are_counted() {
    // There is no need to keep so many records, only to count.
    let recorded = recorded(program("too-many").with(spool::VAR_MAX_SIZE, "1000000"));
    // 4,096 places, one of which is the main thread's.
    assert_eq!(recorded.process().untracked_threads, 4200 - 4095);
}

/// Most records of the waits for eight threads to end: each wait, its place and the libraries with their names, counts; and of
/// the threads' ends.
const MOST_OF_WAITS: u64 = 8 * 2 + 2 * 20 + 8 + ENDS;
/// Records of the threads' ends.
const ENDS: u64 = 8;

#[test]
fn what_there_is_no_room_for_is_counted() {
    for size in ["200000", "70000", "0"] {
        let program = program("full").with(spool::VAR_MAX_SIZE, size).with(spool::VAR_STACKS, "off");
        let recorded = recorded(program);
        let process = recorded.process();
        let kept: usize = launches(process).values().sum();
        assert!(process.dropped > 0 && process.full == Some(spool::Full::Limit), "{size}");
        // Besides the launches: that of the main thread, cuInit, and, without any room, their names,
        // the program's, the libraries' and the driver's; then the waits for eight threads to end.
        let all = (kept as u64 + process.dropped) - (8 * 4000 + 1);
        assert!(
            all <= 12 + MOST_OF_WAITS && (size == "0" || all <= ENDS),
            "{size}: {kept} + {}",
            process.dropped
        );
    }
}

#[test]
fn a_full_disk_does_not_end_the_program() {
    let on_disk = |room| {
        let program = program("full").preloading("libdisk.so").with("STANDIN_DISK", room);
        recorded(program.with(spool::VAR_STACKS, "off"))
    };
    // Full at once: not even a file's header has room.
    assert_eq!(on_disk("1000").recording.processes.len(), 0);
    for room in ["70000", "140000", "300000"] {
        let recorded = on_disk(room);
        let process = recorded.process();
        let kept: usize = launches(process).values().sum();
        assert!(process.dropped > 0 && process.full == Some(spool::Full::Disk), "{room}");
        // Besides the launches, without any chunk: cuInit, and names, then the waits for eight threads to end.
        let others = (kept as u64 + process.dropped) - (8 * 4000 + 1);
        assert!(
            others <= 12 + MOST_OF_WAITS && (room == "70000" || (kept > 0 && others <= ENDS)),
            "{room}: {kept}, {others} others"
        );
    }
}

#[test]
fn a_spool_that_cannot_be_written_changes_nothing() {
    for spool in ["/dev/null/spool", "/nonexistent/spool", &"/long".repeat(300), "", "/proc"] {
        let recorded = recorded(program("two-hundred").with(spool::VAR_DIRECTORY, spool));
        assert_eq!(recorded.recording.processes.len(), 0);
        assert!(!Path::new("/nonexistent").exists());
    }
}

#[test]
fn a_thread_that_ended_with_a_lock_is_named() {
    let recorded = recorded(program("ended-holding"));
    let [wait] = recorded.process().waits.as_slice() else { panic!("{:?}", recorded.process().waits) };
    let record = &wait.record;
    assert_eq!((u64::from(record.holder), record.holders), (recorded.fact("ended"), 1));
    assert_eq!((record.holder_function, record.releaser), (0, 0));
}

#[test]
fn threads_that_let_go_are_not_named() {
    let recorded = recorded(program("ended-holding-nothing"));
    let [wait] = recorded.process().waits.as_slice() else { panic!("{:?}", recorded.process().waits) };
    let record = &wait.record;
    let holder = recorded.fact("holder");
    assert_eq!((u64::from(record.holder), u64::from(record.releaser), record.holders), (holder, holder, 1));
}

#[test]
fn calls_of_a_thread_that_ends_are_recorded() {
    let recorded = recorded(program("last-words"));
    assert_eq!(launches(recorded.process()).values().sum::<usize>(), 1 + 20);
    assert_eq!(recorded.process().untracked_threads, 0);
}

#[test]
fn a_cancellation_waits_for_the_program() {
    let recorded = program("cancelled-in-calls").both();
    assert_eq!(recorded.outcome.stdout, "cancelled 1 after 20000 launches\ndone\n");
    assert_eq!(launches(recorded.process()).values().sum::<usize>(), 1 + 20_000);
    let recorded = program("cancelled-with-locks").both();
    assert_eq!(recorded.outcome.stdout, "cancelled 1, let go 1, outer lock 0\ndone\n");
    assert_eq!(recorded.process().waits.len(), 1);
}
