//! Processes that execute, end and write too much while they are watched.
#![cfg(target_os = "linux")]

mod support;

use support::{planted, watched, watched_to_death, watched_within};

#[test]
fn a_process_that_executes_is_two() {
    let seen = watched(&planted(), &["exec"], 100);
    let trace = &seen.trace;
    assert_eq!(trace.processes.len(), 2, "{:?}", trace.processes);
    assert_eq!(trace.processes.pid[0], trace.processes.pid[1]);
    let ends = |process: usize| {
        let of_it = |row: &trace::State| trace.threads.process[row.thread.index()].index() == process;
        let rows: Vec<_> = trace.states.ids().map(|id| trace.states.row(id)).filter(of_it).collect();
        let running: i64 = rows.iter().map(|row| row.running).sum();
        assert!(running > 20_000_000, "{process}: {running}");
        (
            rows.iter().map(|row| row.start).min().expect("some"),
            rows.iter().map(|row| row.end).max().expect("some"),
        )
    };
    let (first, second) = (ends(0), ends(1));
    // Until it is known that another program runs, its time is the first one's: a tenth of a second.
    assert!(second.1 > first.1 && second.0 > first.0 + 50_000_000, "{first:?} {second:?}");
}

#[test]
fn a_process_that_dies_leaves_what_was_seen() {
    let seen = watched_to_death(&planted(), &["end"]);
    assert!(!seen.states(seen.fact("pid")[0]).is_empty());
    assert_eq!(seen.report.notes, Vec::<String>::new());
}

#[test]
fn the_limit_holds_and_what_it_costs_is_said() {
    // A file of one chunk.
    let seen = watched_within(&planted(), &["burners", "2000"], 64 << 10);
    let notes = &seen.trace.meta.notes;
    assert!(notes.iter().any(|note| note.contains("the spool was full")), "{notes:?}");
    assert!(seen.trace.meta.lost.records > 0);
}

/// Whether this process may look at every process.
fn may_trace() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let all = status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("capabilities");
    // CAP_SYS_PTRACE
    u64::from_str_radix(all.trim(), 16).expect("a number") >> 19 & 1 == 1
}

#[test]
fn a_process_that_hides_is_seen_until_then() {
    if may_trace() {
        return println!("skipped: nothing hides from a process with CAP_SYS_PTRACE");
    }
    let seen = watched(&planted(), &["hide"], 100);
    let notes = &seen.trace.meta.notes;
    assert!(notes.iter().any(|note| note.contains("stacks are not sampled")), "{notes:?}");
    assert!(!seen.trace.samples.is_empty() && !seen.states(seen.fact("pid")[0]).is_empty());
}
