//! Workloads built in Rust that cannot be run: errors name process, thread and step.

use workload::{
    BarrierId, BufferId, Call, ContextId, Kernel, MOST_CALLS, Memory, Number, Process, Repeat, StreamId,
    StreamKind, Workload,
};

/// A workload named `w` with one process, and what else is added to it.
fn built(add: impl FnOnce(&mut Process)) -> Workload {
    let mut workload = Workload::new("w");
    add(workload.process("main"));
    workload
}

/// Problem of a workload that cannot be run.
#[track_caller]
fn wrong(workload: &Workload) -> String {
    workload.check().expect_err("it cannot be run").to_string()
}

#[test]
fn a_step_is_found_by_its_path() {
    let workload = built(|process| {
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::Blocking);
        let buffer = process.buffer("dev", context, Memory::Device, 64);
        let thread = process.thread("A", context);
        thread.before().allocate(buffer);
        thread.body().synchronize(stream).repeat(3, |steps| {
            steps.query(stream).launch(
                Kernel::Increment { buffer, offset: Number::index(8, 4), length: 4, rounds: 1 },
                1,
                4,
                stream,
            );
        });
    });
    assert_eq!(
        wrong(&workload),
        "workload \"w\", process \"main\", thread \"A\", body step 2.2: needs 80 bytes of buffer \"dev\", \
         which has 64: work on fewer elements or make it larger"
    );
}

#[test]
fn references_to_missing_rows_are_refused() {
    let with_call = |call: Call| {
        built(|process| {
            let context = process.primary(0);
            process.thread("A", context).body().call(call);
        })
    };
    let said = wrong(&with_call(Call::Free { buffer: BufferId(7), stream: None }));
    assert!(said.ends_with("body step 1: there is no buffer 7, only 0: use one of this process"), "{said}");
    let said = wrong(&with_call(Call::QueryStream { stream: StreamId(u32::MAX) }));
    assert!(said.contains("there is no stream 4294967295"), "{said}");
    let said = wrong(&with_call(Call::Meet { barrier: BarrierId(0) }));
    assert!(said.contains("there is no barrier 0"), "{said}");
    let said = wrong(&built(|process| {
        process.thread("A", ContextId(1));
    }));
    assert_eq!(
        said,
        "workload \"w\", process \"main\", thread \"A\": there is no context 1, the process has 0: \
         add it to the process"
    );
}

#[test]
fn names_with_line_breaks_stay_on_one_line() {
    let mut workload = Workload::new("a\nb");
    let process = workload.process("c\nd");
    let context = process.primary(0);
    process.thread("e\nf", context).repeat = Repeat::Times(0);
    assert_eq!(wrong(&workload).lines().count(), 1);
}

#[test]
fn a_barrier_needs_all_its_threads() {
    let mut workload = Workload::new("w");
    let barrier = workload.barrier("b", 3);
    for name in ["one", "two"] {
        let process = workload.process(name);
        let context = process.primary(0);
        process.thread("A", context).body().meet(barrier);
    }
    let said = wrong(&workload);
    assert_eq!(
        said,
        "workload \"w\", barrier \"b\": is for 3 threads, but 2 meet there: change the number or the steps"
    );
    workload.barriers[0].parties = 2;
    assert_eq!(workload.check(), Ok(()));
}

/// Meetings beyond those that are tried are counted all the same.
#[test]
fn one_meeting_too_many_in_a_billion_is_found() {
    let rounds = 1 << 30;
    let mut workload = Workload::new("w");
    let barrier = workload.barrier("b", 2);
    let process = workload.process("main");
    let context = process.primary(0);
    process.thread("A", context).body().repeat(rounds, |steps| {
        steps.meet(barrier);
    });
    let other = process.thread("B", context);
    other.body().meet(barrier);
    other.repeat = Repeat::Times(rounds);
    assert_eq!(workload.check(), Ok(()));
    workload.processes[0].threads[1].after().meet(barrier);
    assert_eq!(
        wrong(&workload),
        "workload \"w\", process \"main\", thread \"B\", body step 1: meets at barrier \"b\" 1073741825 times \
         in body and after, thread \"A\" 1073741824: let all threads meet there equally often"
    );
}

/// Rounds of loops around loops that are not those of the other thread, too many to be tried one by one.
#[test]
fn repeated_rounds_are_skipped() {
    let mut workload = Workload::new("w");
    let barriers = ["x", "y"].map(|name| workload.barrier(name, 2));
    let process = workload.process("main");
    let context = process.primary(0);
    let lists = |steps: &mut workload::Steps<'_>, loops: &[u64]| {
        for times in loops {
            steps.repeat(*times, |steps| {
                steps.meet(barriers[0]);
            });
        }
        steps.meet(barriers[1]);
    };
    const TIMES: u64 = 1 << 10;
    for (name, loops) in [("A", vec![TIMES, 3 * TIMES, 2 * TIMES]), ("B", vec![6 * TIMES - 7, 7])] {
        process.thread(name, context).body().repeat(TIMES, |steps| {
            steps.repeat(TIMES, |steps| lists(steps, &loops));
        });
    }
    assert_eq!(workload.check(), Ok(()));
    // One of them now meets at the other barrier before the last time at this.
    for (thread, first) in [(0, 0), (1, 1)] {
        let mut after = workload.processes[0].threads[thread].after();
        after.meet(barriers[first]).meet(barriers[1 - first]);
    }
    assert!(wrong(&workload).contains("waits for ever"), "{}", wrong(&workload));
}

#[test]
fn an_order_that_does_not_repeat_is_refused() {
    let mut workload = Workload::new("w");
    let barrier = workload.barrier("x", 2);
    let process = workload.process("main");
    let context = process.primary(0);
    for (name, outer, inner) in [("A", 700_001, 700_003), ("B", 700_003, 700_001)] {
        process.thread(name, context).body().repeat(outer, |steps| {
            steps.repeat(inner, |steps| {
                steps.meet(barrier);
            });
        });
    }
    let said = wrong(&workload);
    assert!(said.contains("body step 1.1.1: meets in an order that is not tried to its end"), "{said}");
}

#[test]
fn every_call_is_counted() {
    let calls = |times: u64| {
        built(|process| {
            let context = process.primary(0);
            let stream = process.stream("s", context, StreamKind::Blocking);
            let thread = process.thread("A", context);
            thread.before().synchronize(stream);
            thread.body().repeat(2, |steps| {
                steps.query(stream);
            });
            thread.repeat = Repeat::Times(times);
        })
    };
    assert_eq!(calls(MOST_CALLS / 2 - 1).check(), Ok(()));
    assert!(wrong(&calls(MOST_CALLS / 2)).contains("more calls than the 2^40"));
    assert!(wrong(&calls(u64::MAX)).contains("more calls than the 2^40"));
}

/// Each loop in a loop is gone through twice by itself, not twice as often as the one around it: 2^32 times would not
/// end.
#[test]
fn nested_loops_are_checked_quickly() {
    let workload = built(|process| {
        let context = process.primary(0);
        let buffer = process.buffer("x", context, Memory::Device, 64);
        let thread = process.thread("A", context);
        thread.body().allocate(buffer).free(buffer);
        for _ in 0..31 {
            let inside = std::mem::take(&mut thread.body);
            thread.body().push(workload::Step::Loop { times: 2, steps: inside });
        }
    });
    assert_eq!(workload.check(), Ok(()));
    // As deep as steps may lie, they are read too.
    assert_eq!(Workload::from_toml(workload.to_toml().as_bytes(), "deep.toml"), Ok(workload));
}
