//! Long runs: the last records are kept, and recording is switched off and on.

use crate::recording::Process;
use crate::run::{Program, Recorded};
use spool::Call;

/// As in long.c.
const TURNS: u64 = 3000;
const LAUNCHES: u64 = 20;
const THREADS: u64 = 4;
const SIZES: u64 = 61;

fn program(scenario: &str) -> Program {
    Program::looking_up("long", scenario).with(spool::VAR_STACKS, "off")
}

fn keeping_last(scenario: &str, size: &str) -> Program {
    program(scenario).with(spool::VAR_KEEP, "last").with(spool::VAR_MAX_SIZE, size)
}

fn done(program: &Program) -> Recorded {
    let recorded = program.both();
    assert_eq!((recorded.outcome.code, recorded.outcome.stdout.as_str()), (Some(0), "done\n"));
    recorded
}

/// The sizes of a thread's fills, in the order in which it made them.
fn fills(process: &Process, tid: u64) -> Vec<u64> {
    let of = |call: &&crate::recording::Row<Call>| u64::from(call.tid) == tid;
    process
        .calls_of("cuMemsetD32Async")
        .into_iter()
        .filter(of)
        .map(|call| call.record.bytes / 4 - 1)
        .collect()
}

/// A thread's fills are the last of so many, without a gap; how many there are.
fn are_the_last(fills: &[u64], made: u64) -> u64 {
    let first = made - fills.len() as u64;
    let expected: Vec<u64> = (first..made).map(|number| number % SIZES).collect();
    assert_eq!(fills, expected);
    fills.len() as u64
}

fn calls(process: &Process) -> u64 {
    process.calls.len() as u64
}

#[test]
fn the_last_calls_of_each_thread_are_kept_and_the_others_counted() {
    for size in ["1000000", "3000000"] {
        let recorded = done(&keeping_last("much", size));
        let process = recorded.process();
        assert!(process.overwritten > 0 && process.dropped == 0 && process.full.is_none(), "{size}");
        // Each is there or counted, cuInit too; so are the threads' ends.
        let (all, found) = (THREADS * TURNS * (1 + LAUNCHES) + 1, calls(process) + process.overwritten);
        assert!((all..=all + THREADS).contains(&found), "{size}: {found}");
        let kept: u64 =
            recorded.facts("thread").iter().map(|tid| are_the_last(&fills(process, *tid), TURNS)).sum();
        assert!(kept > 100, "{size}: {kept}");
        // The names that they have were written once.
        assert!(process.calls.iter().all(|call| !call.name.is_empty()), "{size}");
    }
}

#[test]
fn a_recording_that_fits_loses_nothing() {
    let recorded = done(&keeping_last("much", "100000000"));
    let process = recorded.process();
    assert_eq!((process.overwritten, process.dropped), (0, 0));
    assert_eq!(calls(process), THREADS * TURNS * (1 + LAUNCHES) + 1);
}

#[test]
fn a_trace_says_from_when_on_it_is_complete() {
    let recorded = done(&keeping_last("much", "1000000").gathered());
    let (trace, process) = (recorded.trace.as_ref().expect("it was gathered"), recorded.process());
    let &[(from, to)] = trace.meta.recorded.as_slice() else { panic!("{:?}", trace.meta.recorded) };
    let (first, last) = trace.span().expect("there are calls");
    assert!(from < last && last <= to && trace.meta.is_part(), "{from} {to} {first} {last}");
    assert!(trace.calls.end.iter().all(|end| *end >= from));
    // What was overwritten is not lost: the trace begins after it.
    assert_eq!(trace.meta.lost.records, 0);
    let mut left_out = trace.meta.left_out.clone();
    assert_eq!(left_out.remove("overwritten by later records (--keep last)"), Some(process.overwritten));
    let removed = left_out.values().sum::<u64>();
    // Few rows of other tables are removed, too: waits of the threads for each other, their states.
    let gone = calls(process) - trace.calls.len() as u64;
    assert!((gone..gone + 50).contains(&removed), "{gone} {removed}");
    let notes = trace.meta.notes.join("\n");
    assert!(notes.contains("records were overwritten by later ones: the last"), "{notes}");
}

#[test]
fn threads_that_ended_leave_their_room_to_others() {
    // Without what they leave there is room for 40 threads.
    let recorded = done(&keeping_last("in-turn", "2600000"));
    let process = recorded.process();
    // Ends of threads are overwritten, too.
    let all = 300 * 20 * (1 + LAUNCHES) + 1;
    assert!((all..=all + 300).contains(&(calls(process) + process.overwritten)), "{}", process.overwritten);
    assert_eq!(process.dropped, 0);
    let last = *recorded.facts("thread").last().expect("there was one");
    let fills = fills(process, last);
    assert_eq!(fills[fills.len() - 20..], *Vec::from_iter(0..20));
}

#[test]
fn a_kill_while_records_are_overwritten_leaves_no_damage() {
    for _ in 0..3 {
        let recorded = keeping_last("is-killed", "1000000").recorded();
        assert_eq!(recorded.outcome.signal, Some(libc::SIGKILL));
        let process = recorded.process();
        assert!(!process.finished && process.overwritten > 0);
        // So many rounds at least, of which each thread was in one.
        let rounds = SIZES * (1 + LAUNCHES);
        assert!(calls(process) + process.overwritten >= 160 * rounds, "{}", calls(process));
        for tid in &process.threads {
            let fills = fills(process, (*tid).into());
            assert!(fills.windows(2).all(|pair| pair[1] == (pair[0] + 1) % SIZES), "{fills:?}");
        }
    }
}

#[test]
fn a_child_has_a_ring_of_its_own() {
    let recorded = keeping_last("splits", "1000000").both();
    assert_eq!(recorded.outcome.code, Some(0), "{:?}", recorded.outcome);
    let [parent, child] = ["parent", "child"].map(|name| recorded.recording.of(recorded.fact(name)));
    for (process, turns) in [(parent, 2 * TURNS), (child, TURNS)] {
        // With the whole limit taken, little is left for the child.
        assert_eq!(calls(process) + process.overwritten, turns * (1 + LAUNCHES) + 1);
        assert_eq!((process.dropped, process.finished), (0, true));
        let fills = fills(process, process.pid.into());
        let made = TURNS;
        assert!(are_the_last(&fills[fills.len().saturating_sub(10)..], made) > 0);
    }
}

/// How many fills of each size are there.
fn phases(sizes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut counts = vec![0; 5];
    sizes.for_each(|size| counts[size as usize] += 1);
    counts
}

#[test]
fn what_a_program_does_while_recording_is_off_is_not_recorded() {
    let recorded = done(&program("switched").gathered());
    let process = recorded.process();
    // The call by which a thread notices is recorded, too.
    assert_eq!(phases(fills(process, process.pid.into()).into_iter()), [10, 1, 10, 1, 10]);
    assert_eq!(process.calls_of("cuLaunchKernel").len() as u64, 3 * 10 * LAUNCHES);
    assert_eq!((process.dropped, process.overwritten), (0, 0));
    let trace = recorded.trace.as_ref().expect("it was gathered");
    let bytes = trace.arguments.bytes.iter().filter(|bytes| **bytes > 0);
    assert_eq!(phases(bytes.map(|bytes| *bytes as u64 / 4 - 1)), [10, 0, 10, 0, 10]);
    let times = &trace.meta.recorded;
    assert!(times.len() == 3 && times.is_sorted_by(|a, b| a.1 < b.0), "{times:?}");
    assert_eq!(trace.meta.left_out.values().sum::<u64>(), 2);
    let (first, last) = trace.span().expect("there are calls");
    let paused: i64 = trace.meta.pauses().map(|(off, on)| on - off).sum();
    assert!(paused > 0 && trace.meta.recorded_part(first, last) == last - first - paused);
}

#[test]
fn a_call_is_recorded_if_recording_was_on_when_it_began() {
    let recorded = done(&program("switched-in-calls"));
    let process = recorded.process();
    assert_eq!(fills(process, process.pid.into()), [1, 3]);
    assert_eq!(process.counts(recorded.fact("long") as u32), [("cuLaunchKernel", 1)]);
}
