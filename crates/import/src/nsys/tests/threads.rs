//! Activity of threads: scheduler events, samples, waits.

use super::{STRINGS, read, tid};
use trace::{LockKind, LockLayer, LockMode, State, ThreadState, Trace, Wait};

const OSRT: &str = "CREATE TABLE OSRT_API(start, end, globalTid, nameId, callchainId);";
const RUNTIME: &str =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, correlationId, globalTid, nameId);";
const MORE: &str =
    "INSERT INTO StringIds VALUES (20, 'pthread_cond_timedwait'), (21, 'sem_wait'), (22, 'read'),
    (23, 'poll'), (24, 'usleep'), (25, 'pthread_join'), (26, 'pthread_mutex_lock'), (27, 'fread'),
    (30, 'Waiting for GIL'), (31, 'Holding GIL'), (32, 'GIL Trace'), (33, 'mine');";

fn states(trace: &Trace) -> Vec<State> {
    trace.states.ids().map(|state| trace.states.row(state)).collect()
}

fn waits(trace: &Trace) -> Vec<Wait> {
    trace.waits.ids().map(|wait| trace.waits.row(wait)).collect()
}

/// The thread id of a row.
fn of(trace: &Trace, thread: trace::ThreadId) -> i64 {
    thread.some().map_or(0, |thread| trace.threads.tid[thread])
}

#[test]
fn a_thread_runs_from_one_switch_to_the_next() {
    let (t, other) = (tid(10, 11), tid(90, 91));
    let trace = read(&format!(
        "{STRINGS}{MORE}{OSRT}
        INSERT INTO OSRT_API VALUES (130, 190, {t}, 22, 0);
        CREATE TABLE SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState, threadBlock);
        INSERT INTO SCHED_EVENTS VALUES (100, 1, 1, {t}, 0, NULL), (140, 1, 0, {t}, 0, NULL),
            (180, 2, 1, {t}, 0, NULL), (200, 2, 0, {t}, 1, NULL), (210, 2, 1, {t}, 0, NULL),
            (300, 2, 0, {t}, 0, NULL), (310, 2, 1, {t}, 0, NULL), (330, 2, 0, {t}, 5, NULL),
            (400, 2, 1, {t}, 0, NULL), (410, 2, 1, {t}, 0, NULL), (5, 0, 1, {other}, 0, NULL), (7, 0, 1, 0, 0, NULL);
        CREATE TABLE ENUM_SAMPLING_THREAD_STATE(id, name);
        INSERT INTO ENUM_SAMPLING_THREAD_STATE VALUES (0, 'Unknown'), (1, 'Running'), (2, 'Interruptible'),
            (3, 'Uninterruptible'), (5, 'Terminated');"
    ));
    let rows: Vec<_> = states(&trace)
        .into_iter()
        .map(|row| (row.start, row.end, row.running, row.runnable, row.state, trace.text(row.call)))
        .collect();
    use ThreadState::{Blocked, Runnable, Running, Unknown};
    let expected = [
        (0, 40, 40, 0, Running, ""),
        (40, 80, 0, 0, Blocked, "read"),
        (80, 100, 20, 0, Running, ""),
        (100, 110, 0, 10, Runnable, ""),
        (110, 200, 90, 0, Running, ""),
        (200, 210, 0, 0, Unknown, ""),
        (210, 230, 20, 0, Running, ""),
    ];
    assert_eq!(rows, expected);
    // A thread's switches tell nothing of GPUs: none of their records are lost.
    assert_eq!(trace.meta.left_out.get("scheduler events without their counterpart"), Some(&1));
    assert_eq!(trace.meta.lost.records, 0);
    assert_eq!(trace.meta.left_out.get("scheduler events of other processes"), Some(&2));
    assert!(trace.meta.notes[0].contains("off a processor counts as blocked"), "{:?}", trace.meta.notes);
    assert_eq!(trace.threads.len(), 1);
}

#[test]
fn a_thread_waits_for_the_only_processor_that_it_ever_has() {
    let [first, second] = [11, 12].map(|thread| tid(10, thread));
    let read = |cpu: i64, other: i64| {
        let trace = read(&format!(
            "{STRINGS}
            CREATE TABLE SCHED_EVENTS(start, cpu, isSchedIn, globalTid);
            INSERT INTO SCHED_EVENTS VALUES (0, 3, 1, {first}), (100, 3, 0, {first}), (101, {cpu}, 1, {second}),
                (200, {cpu}, 0, {second}), (202, 3, 1, {first}), (300, 3, 0, {first}), (301, {other}, 1, {second}),
                (320, {other}, 0, {second}), (400, 3, 1, {first}), (500, 3, 0, {first});"
        ));
        let states = states(&trace).into_iter().filter(|state| of(&trace, state.thread) == 11);
        states.map(|state| (state.state, state.runnable)).collect::<Vec<_>>()
    };
    use ThreadState::{Runnable, Running, Unknown};
    let (running, unknown) = ((Running, 0), (Unknown, 0));
    // Positive case: the other thread has it for all but 3 % of the time; and a time for which it has a fifth.
    assert_eq!(read(3, 3), [running, (Runnable, 102), running, unknown, running]);
    // Near miss: the other thread runs elsewhere.
    assert_eq!(read(4, 4), [running, unknown, running, unknown, running]);
}

#[test]
fn without_the_scheduler_calls_that_wait_are_states() {
    let t = tid(10, 11);
    let trace = read(&format!(
        "{STRINGS}{MORE}{OSRT}
        INSERT INTO OSRT_API VALUES (0, 90000, {t}, 23, 0), (10, 50000, {t}, 24, 0), (100000, 190000, {t}, 27, 0),
            (200000, 219999, {t}, 24, 0), (300000, 320000, {t}, 24, 0), (400000, 500000, {t}, 21, 0);"
    ));
    let rows: Vec<_> = states(&trace)
        .into_iter()
        .map(|row| (row.start, row.end, row.running, row.state, trace.text(row.call)))
        .collect();
    let expected = [
        (0, 90_000, 0, ThreadState::Blocked, "poll"),
        (100_000, 190_000, 0, ThreadState::Blocked, "read(file)"),
        (300_000, 320_000, 0, ThreadState::Blocked, "clock_nanosleep"),
        (400_000, 500_000, 0, ThreadState::Blocked, "futex"),
    ];
    assert_eq!(rows, expected);
    assert_eq!(trace.calls.len(), 6);
}

#[test]
fn long_calls_that_wait_for_locks_are_waits_of_the_program() {
    let t = tid(10, 11);
    let trace = read(&format!(
        "{STRINGS}{MORE}{OSRT}{RUNTIME}
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 100000, 1, {t}, 1);
        INSERT INTO OSRT_API VALUES (10, 90000, {t}, 4, 0), (200000, 219999, {t}, 26, 0), (300000, 400000, {t}, 26, 7),
            (500000, 600000, {t}, 20, 0), (700000, 800000, {t}, 25, 0), (900000, 990000, {t}, 22, 0);
        CREATE TABLE OSRT_CALLCHAINS(id, symbol, module, stackDepth);
        INSERT INTO OSRT_CALLCHAINS VALUES (7, 7, 8, 0);"
    ));
    let rows: Vec<_> = waits(&trace).into_iter().map(|row| (row.start, row.kind, row.mode)).collect();
    let (unknown, exclusive) = (LockMode::Unknown, LockMode::Exclusive);
    let expected = [
        (300_000, LockKind::Mutex, exclusive),
        (500_000, LockKind::Condition, unknown),
        (700_000, LockKind::Join, unknown),
    ];
    assert_eq!(rows, expected);
    assert!(trace.waits.layer.iter().all(|layer| *layer == LockLayer::Program));
    assert_eq!(trace.waits.call[0].index(), 3);
    assert_eq!(trace.waits.stack[0], trace.calls.stack[3]);
    assert!(trace.waits.stack[0].is_some() && trace.waits.holder[0].is_none());
}

const NVTX: &str = "CREATE TABLE NVTX_EVENTS(start, end, eventType, text, textId, globalTid, domainId);";

#[test]
fn ranges_of_the_gil_are_waits_with_holder_and_releaser() {
    let (a, b, c) = (tid(10, 11), tid(10, 12), tid(10, 13));
    let trace = read(&format!(
        "{STRINGS}{MORE}{NVTX}{OSRT}
        INSERT INTO NVTX_EVENTS VALUES (0, 90000, 59, NULL, 31, {a}, 3), (5000, 200000, 59, NULL, 30, {b}, 3),
            (90000, 198000, 59, NULL, 31, {c}, 3), (200000, 300000, 59, NULL, 31, {b}, 3),
            (400000, 401000, 59, NULL, 30, {a}, 3), (1, 2, 59, NULL, 30, {a}, 4),
            (0, NULL, 75, NULL, 32, {a}, 3), (0, NULL, 75, 'mine', NULL, {a}, 4);
        INSERT INTO OSRT_API VALUES (6000, 190000, {b}, 20, 0);"
    ));
    let [first, last] = waits(&trace)[..] else { panic!("{:?}", waits(&trace)) };
    assert_eq!((first.kind, first.layer), (LockKind::Gil, LockLayer::Interpreter));
    assert_eq!((first.start, first.end, first.handoff, first.holders), (5_000, 200_000, 2_000, 1));
    assert_eq!([first.thread, first.holder, first.releaser].map(|thread| of(&trace, thread)), [12, 11, 13]);
    assert_eq!((of(&trace, last.thread), last.holder.is_none(), last.releaser.is_none()), (11, true, true));
    let names: Vec<&str> = trace.ranges.name.iter().map(|name| trace.text(*name)).collect();
    assert_eq!(names, ["Holding GIL", "Holding GIL", "Holding GIL", "Waiting for GIL"]);
}

#[test]
fn ranges_have_the_domains_of_their_process() {
    let (a, other) = (tid(10, 11), tid(20, 21));
    let trace = read(&format!(
        "{STRINGS}{NVTX} INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'sort', NULL, {a}, 5), (3, 4, 59, 'sort', NULL, {a}, 0),
            (5, 6, 59, 'sort', NULL, {other}, 5), (0, NULL, 75, 'CCCL', NULL, {a}, 5);"
    ));
    let domains: Vec<&str> = trace.ranges.domain.iter().map(|domain| trace.text(*domain)).collect();
    assert_eq!(domains, ["CCCL", "", ""]);
}

#[test]
fn samples_of_python_stacks_are_counted() {
    let (a, b) = (tid(10, 11), tid(20, 21));
    let trace = read(&format!(
        "{STRINGS}{NVTX} INSERT INTO NVTX_EVENTS VALUES (5, NULL, 34, NULL, NULL, {a}, 2), (6, NULL, 34, NULL, NULL, {a}, 2),
            (7, NULL, 34, 'mark', NULL, {b}, 2), (0, NULL, 75, 'Python Periodic Sampling', NULL, {a}, 2);"
    ));
    assert_eq!(trace.meta.left_out.get("samples of Python stacks"), Some(&2));
    assert_eq!(trace.meta.left_out.get("NVTX marks, categories and domains"), Some(&2));
}

#[test]
fn the_gil_of_one_process_is_not_held_by_another_and_several_are_not_mixed() {
    let (a, b, other, elsewhere) = (tid(10, 11), tid(10, 12), tid(10, 13), tid(20, 21));
    let of_both = format!(
        "{STRINGS}{MORE}{NVTX}
        INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, 'GIL Trace', NULL, {a}, 1),
            (0, NULL, 75, 'GIL Trace', NULL, {elsewhere}, 1), (0, 900, 59, NULL, 31, {elsewhere}, 1),
            (10, 90, 59, NULL, 30, {a}, 1);"
    );
    let [wait] = waits(&read(&of_both))[..] else { panic!() };
    assert!(wait.holder.is_none() && wait.releaser.is_none());
    let interpreters = format!(
        "{of_both} INSERT INTO NVTX_EVENTS VALUES (0, 50, 59, NULL, 31, {b}, 1), (20, 80, 59, NULL, 31, {other}, 1);"
    );
    let [wait] = waits(&read(&interpreters))[..] else { panic!() };
    assert!(wait.holder.is_none() && wait.releaser.is_none(), "two interpreters hold two locks");
}

#[test]
fn samples_have_their_stacks_and_states() {
    let (t, other) = (tid(10, 11), tid(90, 91));
    let trace = read(&format!(
        "{STRINGS}{OSRT} INSERT INTO OSRT_API VALUES (0, 1, {t}, 4, 0);
        CREATE TABLE COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start, cpu, threadState, globalTid, cpuCycles);
        INSERT INTO COMPOSITE_EVENTS VALUES (1, 50, 0, 1, {t}, 1), (2, 60, 0, 2, {t}, 1), (3, 70, 0, 1, {other}, 1),
            (4, 'soon', 0, 1, {t}, 1);
        CREATE TABLE SAMPLING_CALLCHAINS(id, symbol, module, stackDepth);
        INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 7, 8, 0), (1, 6, 8, 1);"
    ));
    let samples = &trace.samples;
    assert_eq!((samples.at.as_slice(), samples.state[0]), ([50, 60].as_slice(), ThreadState::Running));
    assert_eq!(samples.state[1], ThreadState::Blocked);
    let stack = trace.stacks.row(samples.stack[0]);
    let function = |stack: trace::Stack| trace.text(trace.frames.row(stack.frame).function);
    assert_eq!((function(stack), function(trace.stacks.row(stack.caller))), ("work", "main"));
    assert!(samples.stack[1].is_none());
    assert_eq!(trace.meta.left_out.get("samples of other processes"), Some(&1));
    assert_eq!(trace.meta.lost.reasons.get("COMPOSITE_EVENTS: no start time"), Some(&1));
}

#[test]
fn without_other_events_every_process_counts() {
    let trace = read(&format!(
        "{STRINGS} CREATE TABLE SCHED_EVENTS(start, cpu, isSchedIn, globalTid);
        INSERT INTO SCHED_EVENTS VALUES (0, 0, 1, {t}), (5, 0, 0, {t});",
        t = tid(90, 91)
    ));
    assert_eq!((trace.states.len(), trace.states.running[0]), (1, 5));
}

#[test]
fn without_the_scheduler_a_thread_sleeps_in_calls_for_data() {
    let (t, names) =
        (tid(10, 11), "(40, 'open64'), (41, 'write'), (42, 'close'), (43, 'ioctl'), (44, 'pwrite64')");
    let trace = read(&format!(
        "{STRINGS}{MORE}{OSRT} INSERT INTO StringIds VALUES {names};
        INSERT INTO OSRT_API VALUES (0, 90000, {t}, 41, 0), (100000, 100500, {t}, 40, 0), (101000, 190000, {t}, 41, 0),
            (200000, 290000, {t}, 42, 0), (300000, 390000, {t}, 41, 0), (400000, 490000, {t}, 43, 0),
            (500000, 590000, {t}, 40, 0), (600000, 690000, {t}, 22, 0), (700000, 790000, {t}, 42, 0),
            (800000, 890000, {t}, 40, 0), (900000, 901000, {t}, 43, 0), (1000000, 1090000, {t}, 22, 0), (1100000, 1190000, {t}, 42, 0);"
    ));
    let rows: Vec<_> = states(&trace).into_iter().map(|row| (row.start, trace.text(row.call))).collect();
    let expected = [
        (0, "write"),
        (101_000, "write(file)"),
        // What was written goes to the disk.
        (200_000, "write(file)"),
        (300_000, "write"),
        (500_000, "openat"),
        (600_000, "read(file)"),
        (700_000, "close"),
        // A device of the driver's stays open: what is read and closed is another one.
        (800_000, "openat"),
        (1_000_000, "read"),
        (1_100_000, "close"),
    ];
    assert_eq!(rows, expected, "ioctl is the driver's");
}

#[test]
fn a_call_within_a_function_that_writes_files_is_on_one() {
    let t = tid(10, 11);
    let trace = read(&format!(
        "{STRINGS}{MORE}{OSRT} INSERT INTO StringIds VALUES (41, 'write'), (50, '_io_FileIO_write'), (51, 'sock_send');
        CREATE TABLE OSRT_CALLCHAINS(id, symbol, module, kernelMode, thumbCode, unresolved, specialEntry, originalIP, stackDepth);
        INSERT INTO OSRT_CALLCHAINS VALUES (1, 41, 41, NULL, NULL, NULL, NULL, 0, 0), (1, 50, 41, NULL, NULL, NULL, NULL, 0, 1),
            (2, 41, 41, NULL, NULL, NULL, NULL, 0, 0), (2, 51, 41, NULL, NULL, NULL, NULL, 0, 1);
        INSERT INTO OSRT_API VALUES (0, 90000, {t}, 41, 1), (100000, 190000, {t}, 41, 2);"
    ));
    let rows: Vec<_> = states(&trace).into_iter().map(|row| trace.text(row.call)).collect();
    assert_eq!(rows, ["write(file)", "write"]);
}

/// The releaser of the first thread's wait for a condition, from 0.1 to 1 ms, beside other threads' calls.
fn releaser(calls: &str) -> i64 {
    let trace = read(&format!(
        "{STRINGS}{MORE}{OSRT} INSERT INTO StringIds VALUES (40, 'pthread_cond_wait'), (41, 'pthread_cond_signal');
        INSERT INTO OSRT_API VALUES (100000, 1000000, {}, 40, 0), {calls};",
        tid(10, 11)
    ));
    let first = waits(&trace).into_iter().find(|wait| of(&trace, wait.thread) == 11);
    first.map_or(0, |wait| of(&trace, wait.releaser))
}

#[test]
fn the_thread_that_posts_ends_a_wait() {
    let (b, c) = (tid(10, 12), tid(10, 13));
    let both = format!("(990000, 995000, {b}, 41, 0), (0, 1000, {c}, 22, 0), (2000000, 2001000, {c}, 22, 0)");
    assert_eq!(releaser(&both), 12, "the other one was awake as well, and posted nothing");
    let two = format!("(990000, 995000, {b}, 41, 0), (985000, 990000, {c}, 41, 0)");
    assert_eq!(releaser(&two), 0, "either may have ended it");
}

#[test]
fn the_only_thread_that_is_awake_ends_a_wait() {
    let (b, c, other) = (tid(10, 12), tid(10, 13), tid(20, 21));
    let awake = |thread: i64| format!("(0, 1000, {thread}, 22, 0), (2000000, 2001000, {thread}, 22, 0)");
    let asleep = format!("(0, 3000000, {c}, 23, 0)");
    assert_eq!(releaser(&format!("{}, {asleep}", awake(b))), 12);
    assert_eq!(releaser(&format!("{}, {}", awake(b), awake(c))), 0, "two are awake");
    assert_eq!(releaser(&format!("{}, {asleep}", awake(other))), 0, "another process");
    let late = format!("(0, 1000, {b}, 22, 0), (960000, 3000000, {b}, 23, 0)");
    assert_eq!(releaser(&late), 12, "it slept only after it had woken the other one");
}
