//! Whether a recording has what its program knows.

use crate::recording::Process;
use crate::run::Recorded;
use spool::{Awaited, Level};
use std::collections::HashSet;

/// The functions whose calls the program counts: `enum function` of orders.h.
const FUNCTIONS: [&str; 8] = [
    "cuLaunchKernel",
    "cuMemcpyDtoHAsync",
    "cuMemcpyHtoDAsync",
    "cuMemsetD32Async",
    "cuMemAlloc",
    "cuMemFree",
    "cuCtxSynchronize",
    "cuCtxGetCurrent",
];
/// The last one is a query: it is counted, and at level `light` not even that.
const QUERY: usize = FUNCTIONS.len() - 1;

/// How far the recorder's clock may be off, ns.
const CLOCK: i64 = 20_000;

/// How many of the program's facts were compared.
#[derive(Default, Debug)]
pub struct Known {
    pub waits: u64,
    pub calls: u64,
    pub children: u64,
    pub lost: u64,
}

impl Known {
    pub fn add(&mut self, other: &Known) {
        self.waits += other.waits;
        self.calls += other.calls;
        self.children += other.children;
        self.lost += other.lost;
    }
}

/// Compares a recording with the facts; panics where they differ. That it is readable and undamaged has been seen.
pub fn check(recorded: &Recorded) -> Known {
    let process = recorded.recording.of(recorded.fact("process"));
    let is_complete = recorded.outcome.signal.is_none();
    assert_eq!(process.finished, is_complete, "the recording's end");
    assert_eq!(process.untracked_threads, 0, "threads that are not recorded");
    threads(recorded, process);
    let calls = calls(recorded, process, is_complete);
    let waits = waits(recorded, process);
    let children = children(recorded);
    Known { waits, calls, children, lost: lost(process) }
}

/// Records that are counted as lost.
fn lost(process: &Process) -> u64 {
    process.dropped + process.overwritten
}

/// Nobody else wrote into the process's file.
fn threads(recorded: &Recorded, process: &Process) {
    let known: HashSet<u64> = recorded.facts("thread").iter().copied().collect();
    let foreign: Vec<u32> =
        process.threads.iter().copied().filter(|tid| !known.contains(&u64::from(*tid))).collect();
    assert!(foreign.is_empty(), "threads {foreign:?} are none of the process's, which are {known:?}");
}

/// How many calls of a function a thread made, as it is recorded.
fn recorded_calls(process: &Process, tid: u64, function: &str) -> u64 {
    let is_it = |of: u32, name: &str| u64::from(of) == tid && name.trim_end_matches("_v2") == function;
    let recorded = process.calls.iter().filter(|call| is_it(call.tid, &call.name)).count() as u64;
    // The thread that ends the process writes for others.
    let counted = process.counted.iter().filter(|row| is_it(row.record.tid as u32, &row.name));
    recorded + counted.map(|row| row.record.count).sum::<u64>()
}

/// Each call is there once, or counted as lost; returns how many were compared.
fn calls(recorded: &Recorded, process: &Process, is_complete: bool) -> u64 {
    let lists =
        ["calls-thread", "calls-function", "calls-least", "calls-most"].map(|name| recorded.facts(name));
    let (mut compared, mut missing, mut all, mut which) = (0, 0, 0, Vec::new());
    for (at, tid) in lists[0].iter().enumerate() {
        let (function, least, most) = (lists[1][at] as usize, lists[2][at], lists[3][at]);
        let found = recorded_calls(process, *tid, FUNCTIONS[function]);
        if function == QUERY && (process.level == Some(Level::Light) || !is_complete) {
            // Those that a killed process counted may be lost.
            assert!(found <= most, "{tid} made {most} queries, not {found}");
            continue;
        }
        assert!(found <= most, "{tid} made {most} calls of {}, not {found}", FUNCTIONS[function]);
        // Queries are counted, and a thread's count is one record.
        missing += if function == QUERY { u64::from(found < least) } else { least.saturating_sub(found) };
        if found < least {
            which.push(format!("{tid} made {least} calls of {}, not {found}", FUNCTIONS[function]));
        }
        compared += found.min(least);
        all += if function == QUERY { 0 } else { found };
    }
    // There was no room for the names of some.
    let unnamed = process.calls.iter().filter(|call| call.name.is_empty()).count() as u64;
    let lost = lost(process);
    assert!(
        missing <= lost + unnamed && (unnamed == 0 || lost > 0),
        "{lost} are lost, and {}",
        which.join("; ")
    );
    let asked = process.calls_of(FUNCTIONS[QUERY]).len() as u64;
    // A program that is linked with the driver initializes it before its calls are recorded.
    let total = process.calls.len() as u64 - process.calls_of("cuInit").len() as u64 - asked;
    assert_eq!(total, all + unnamed, "calls of a thread that makes none");
    compared
}

/// A wait as it is recorded, in either form.
struct Found {
    tid: u32,
    kind: u32,
    lock: u64,
    start: i64,
    end: i64,
}

fn found(process: &Process) -> Vec<Found> {
    let driver = process.waits.iter().map(|row| {
        let spool::Wait { kind, lock, start, end, .. } = row.record;
        Found { tid: row.tid, kind, lock, start, end }
    });
    let program = process.thread_waits.iter().map(|(kind, row): &(Awaited, _)| {
        let spool::ThreadWait { lock, start, end, .. } = row.record;
        Found { tid: row.tid, kind: *kind as u32, lock, start, end }
    });
    driver.chain(program).collect()
}

/// Each wait that the program knows of is there and lasts as long, or is counted as lost; returns how many there are.
fn waits(recorded: &Recorded, process: &Process) -> u64 {
    let all = found(process);
    assert!(
        all.iter().all(|wait| wait.start <= wait.end && wait.tid != 0),
        "waits that end before they begin"
    );
    let lists =
        ["wait-thread", "wait-address", "wait-kind", "wait-from", "wait-to"].map(|name| recorded.facts(name));
    let mut missing = Vec::new();
    for at in 0..lists[0].len() {
        let [tid, lock, kind, from, to] = lists.map(|list| list[at]);
        let is_it =
            |wait: &&Found| (u64::from(wait.tid), wait.lock, u64::from(wait.kind)) == (tid, lock, kind);
        let lasts = |wait: &Found| wait.start <= from as i64 + CLOCK && wait.end >= to as i64 - CLOCK;
        if !all.iter().filter(is_it).any(lasts) {
            let near = all.iter().filter(is_it).map(|wait| (wait.start, wait.end)).collect::<Vec<_>>();
            missing.push(format!("of {tid} for {lock:#x}, kind {kind}, {from} to {to}: there are {near:?}"));
        }
    }
    // Where another thread holds the loader's list for long as recording begins, waits are recorded from the program's next
    // call of the loader on, and the recording says so.
    let is_late = process.notes.iter().any(|note| note.starts_with("another thread held the loader"));
    assert!(!is_late || recorded.fact("loader-busy") == 1, "nobody held the loader");
    assert!(is_late || missing.len() as u64 <= lost(process), "waits are missing: {}", missing.join("; "));
    lists[0].len() as u64
}

/// A child has a file of its own or none, with no calls but its own; returns how many there are.
fn children(recorded: &Recorded) -> u64 {
    let (pids, calls) = (recorded.facts("child"), recorded.facts("child-calls"));
    for process in &recorded.recording.processes {
        let pid = u64::from(process.pid);
        if pid == recorded.fact("process") {
            continue;
        }
        let at = pids.iter().position(|child| *child == pid);
        let at = at.unwrap_or_else(|| panic!("{pid} has a file and is no child of {pids:?}"));
        let made = process.calls.iter().filter(|call| call.name != "cuInit").count() as u64;
        // There may have been no room for the name of cuInit.
        let unnamed = u64::from(lost(process) > 0);
        assert!(made <= calls[at] + unnamed, "child {pid} made {} calls, not {made}", calls[at]);
        assert!(process.threads.iter().all(|tid| u64::from(*tid) == pid), "{:?} in {pid}", process.threads);
    }
    pids.len() as u64
}
