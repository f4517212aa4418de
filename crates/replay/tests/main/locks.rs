//! Locks of the program and of the driver, and what holds them.

use crate::support::add_process;
use explain::{Cause, Options, explain_each};
use replay::{Change, Fit, Predictor, Removed, fixes, recover};
use sim::RecordedStep;
use trace::*;

const MS: Ns = 1_000_000;
const ROUNDS: Ns = 40;

/// A process with two threads, and a stream for each.
struct Two {
    trace: Trace,
    threads: [ThreadId; 2],
    streams: [StreamId; 2],
}

impl Two {
    fn new() -> Two {
        let mut trace = Trace::default();
        let (first, stream) = add_process(&mut trace, 1);
        // The model of an H200 knows who waits for the lock of a pageable copy.
        trace.devices.compute_major.fill(9);
        let process = trace.threads.process[first.index()];
        let context = trace.streams.context[stream.index()];
        let second = trace.threads.push(Thread { process, tid: 2, ..Thread::default() });
        let other = trace.streams.push(Stream { context, number: 13 });
        Two { trace, threads: [first, second], streams: [stream, other] }
    }

    /// A call that issues an operation, which runs from `runs.0` to `runs.1`.
    fn issues(&mut self, thread: usize, name: &str, (start, end): (Ns, Ns), op: Op) -> CallId {
        let correlation = self.trace.calls.len() as i64 + 1;
        let (thread, stream) = (self.threads[thread], self.streams[thread]);
        let name = self.trace.strings.intern(name);
        self.trace.ops.push(Op { stream, correlation, ..op });
        self.trace.calls.push(Call { start, end, thread, name, correlation, ..Call::default() })
    }

    fn launches(&mut self, thread: usize, start: Ns, end: Ns) -> CallId {
        let (kind, grid_x, block_x) = (OpKind::Kernel, 1, 64);
        let op = Op { start: end + 3_000, end: end + 103_000, kind, grid_x, block_x, ..Op::default() };
        self.issues(thread, "cuLaunchKernel", (start, end), op)
    }
}

/// The second thread holds a mutex for 5 ms, at line 9, and then runs for 1 ms without it, at line 20, again and again. The first one
/// waits for the mutex and launches a kernel each time, and for the end of the other one at last.
fn mutex() -> Trace {
    let mut two = Two::new();
    let file = two.trace.strings.intern("train.py");
    let stacks = [9, 20].map(|line| {
        let frame = two.trace.frames.push(Frame { file, line, ..Frame::default() });
        two.trace.stacks.push(Stack { frame, caller: StackId::NONE })
    });
    let [thread, holder] = two.threads;
    let layer = LockLayer::Program;
    two.launches(0, 0, 5_000);
    two.launches(1, 10_000, 15_000);
    for round in 1..=ROUNDS {
        let start = round * 6 * MS;
        let end = start + 5 * MS;
        let (kind, lock, releaser, holders) = (LockKind::Mutex, 0x10, holder, 1);
        let wait =
            Wait { kind, lock, layer, holder, holders, releaser, holder_stack: stacks[0], ..Wait::default() };
        two.trace.waits.push(Wait { start: start + MS / 10, end, thread, ..wait });
        two.launches(0, end + MS / 100, end + MS / 50);
        for part in 0..6 {
            let (at, stack) = (start + part * MS + MS / 2, stacks[usize::from(part == 5)]);
            two.trace.samples.push(Sample { at, thread: holder, stack, state: ThreadState::Running });
        }
        let (end, state) = (start + 6 * MS, ThreadState::Running);
        two.trace.states.push(State {
            start,
            end,
            thread: holder,
            running: 6 * MS,
            state,
            ..State::default()
        });
    }
    let (start, end) = (two.trace.calls.end[two.trace.calls.len() - 1] + MS / 10, (ROUNDS + 1) * 6 * MS);
    let kind = LockKind::Join;
    two.trace.waits.push(Wait { start, end, kind, thread, layer, releaser: holder, ..Wait::default() });
    two.launches(0, end + 1_000, end + 6_000);
    two.trace.join();
    two.trace
}

#[test]
fn without_a_locks_holder_its_time_is_gone_as_well() {
    let trace = mutex();
    let (explanation, losses) = explain_each(&trace, &Options::default());
    let finding =
        explanation.findings.iter().find(|finding| finding.cause == Cause::Lock).expect("a finding");
    let removed = Removed::of(&finding.id, &explanation, &losses).unwrap();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let predicted = predictor.predict(&[Change::Removed(&removed)]).unwrap().expect("a change");
    // Of each round of 6 ms the one is left in which it does not hold the mutex, and 0.3 ms of the wait for it.
    let left = predicted.predicted_ns - 6 * MS;
    assert!((ROUNDS * MS..ROUNDS * MS * 3 / 2).contains(&left), "{left}");
}

/// The second thread copies to pageable memory all the time; the first one launches, and each launch waits for a copy in this mode. Returns
/// how long the launches take with these changes.
fn copies(mut two: Two, mode: LockMode, changes: &str) -> Ns {
    let [thread, holder] = two.threads;
    let library = two.trace.strings.intern("libcuda.so.1");
    two.launches(0, 0, 5_000);
    for round in ROUNDS..2 * ROUNDS {
        let (start, end) = (round * 10 * MS, round * 10 * MS + 9_900_000);
        let op = Op {
            kind: OpKind::Copy,
            copy: CopyKind::DtoH,
            bytes: 1 << 26,
            dst: MemoryKind::Pageable,
            ..Op::default()
        };
        let op = Op { start: start + 60_000, end: end - 10_000, ..op };
        let holder_call = two.issues(1, "cuMemcpyDtoHAsync_v2", (start, end), op);
        let begins = start + MS;
        let call = two.launches(0, begins, end + 50_000);
        let (kind, layer, lock) = (LockKind::RwLock, LockLayer::Driver, 0x20);
        let wait =
            Wait { kind, layer, lock, library, mode, holder, holder_call, holders: 1, ..Wait::default() };
        let (start, end) = (begins + 5_000, end + 20_000);
        two.trace.waits.push(Wait {
            start,
            end,
            thread,
            call,
            releaser: holder,
            releaser_call: holder_call,
            ..wait
        });
    }
    two.trace.join();
    let base = recover(&two.trace).unwrap();
    let fit = Fit::of(&two.trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&two.trace, &base, &fit, &|_| {}).unwrap();
    let changes = if changes.is_empty() { Vec::new() } else { fixes(changes).unwrap() };
    let again = predictor.trace(&changes).unwrap().unwrap();
    let launches = again.calls.ids().filter(|call| again.calls.thread[call.index()] == thread);
    launches.map(|call| again.calls.end[call.index()] - again.calls.start[call.index()]).sum()
}

#[test]
fn launches_into_other_streams_wait_for_a_copy_where_they_did() {
    let launches = copies(Two::new(), LockMode::Shared, "");
    assert!((ROUNDS * 8 * MS..ROUNDS * 10 * MS).contains(&launches), "{launches}");
}

#[test]
fn launches_into_a_stream_of_their_own_do_not_wait_for_copies_in_an_exclusive_one() {
    let exclusive = || by_turns(0, LockKind::RwLock, LockMode::Exclusive, 30);
    let launches = copies(exclusive(), LockMode::Exclusive, "");
    assert!((ROUNDS * 8 * MS..ROUNDS * 10 * MS).contains(&launches), "{launches}");
    let launches = copies(exclusive(), LockMode::Exclusive, "own-stream");
    assert!(launches < ROUNDS * MS / 5, "{launches}");
}

/// Two threads launch by turns, the second one into the stream of this row. So many launches each wait for `kind` of lock in this mode, which
/// the launch before it holds.
fn launches_by_turns(stream: usize, kind: LockKind, mode: LockMode, waits: usize) -> Trace {
    let mut two = by_turns(stream, kind, mode, waits);
    two.trace.join();
    two.trace
}

fn by_turns(stream: usize, kind: LockKind, mode: LockMode, waits: usize) -> Two {
    let mut two = Two::new();
    let [first, second] = two.threads;
    two.streams[1] = two.streams[stream];
    let library = two.trace.strings.intern("libcuda.so.1");
    let mut before = two.launches(0, 0, 5_000);
    for round in 1..=waits {
        let (start, thread) = (round as Ns * MS, round % 2);
        let call = two.launches(thread, start, start + 15_000);
        let [own, holder] = if thread == 0 { [first, second] } else { [second, first] };
        let (layer, lock, holder_call, releaser_call) = (LockLayer::Driver, 0x20, before, before);
        let (start, end) = (start + 1_000, start + 11_000);
        let wait =
            Wait { start, end, kind, mode, layer, lock, library, thread: own, call, ..Wait::default() };
        two.trace.waits.push(Wait {
            holders: 1,
            holder,
            holder_call,
            releaser: holder,
            releaser_call,
            ..wait
        });
        before = call;
    }
    two
}

/// Whether each stream is exclusive.
fn exclusive(trace: &Trace) -> Vec<bool> {
    recover(trace).unwrap().recorded.exclusive
}

#[test]
fn a_stream_is_exclusive_where_launches_waited_for_each_other_as_writers() {
    let writers = |waits| launches_by_turns(0, LockKind::RwLock, LockMode::Exclusive, waits);
    assert_eq!(exclusive(&writers(30)), [true, false]);
    let others = [
        writers(29),
        launches_by_turns(0, LockKind::RwLock, LockMode::Shared, 60),
        launches_by_turns(0, LockKind::Mutex, LockMode::Exclusive, 60),
        launches_by_turns(1, LockKind::RwLock, LockMode::Exclusive, 60),
    ];
    assert!(
        others.iter().all(|trace| exclusive(trace) == [false, false]),
        "too few, readers, a mutex, two streams"
    );
}

/// From the release of the mutex of pageable copies until a thread that slept goes on, ns, in the model of a replay. Two threads copy by
/// turns. Each copy begins during the other thread's, and waits for `kind` of lock until so long after that one's return.
fn wake_of_copies(kind: LockKind, waits: Ns, late: Ns) -> Ns {
    let mut two = Two::new();
    let copy = Op {
        kind: OpKind::Copy,
        copy: CopyKind::DtoH,
        dst: MemoryKind::Pageable,
        bytes: 1 << 24,
        ..Op::default()
    };
    let library = two.trace.strings.intern("libcuda.so.1");
    let mut before: Option<(CallId, ThreadId)> = None;
    for round in 0..=waits {
        let (start, end, by) = (round * MS - MS / 2, (round + 1) * MS, round as usize % 2);
        let op = Op { start: round * MS + MS / 4, end: end - MS / 10, ..copy };
        let call = two.issues(by, "cuMemcpyDtoHAsync_v2", (start.max(0), end), op);
        let thread = two.threads[by];
        if let Some((holder_call, holder)) = before.replace((call, thread)) {
            let (start, end, layer) = (start + 1_000, round * MS + late, LockLayer::Driver);
            let wait = Wait { start, end, kind, layer, lock: 0x30, library, thread, call, ..Wait::default() };
            let (releaser, releaser_call) = (holder, holder_call);
            two.trace.waits.push(Wait { holders: 1, holder, holder_call, releaser, releaser_call, ..wait });
        }
    }
    two.trace.join();
    recover(&two.trace).unwrap().model.locks.copies.unwrap().wake_ns
}

#[test]
fn copies_go_on_as_soon_as_they_did() {
    let model = sim::Model::load("h200").unwrap();
    // A copy releases the mutex before the last part of its call, and maybe still earlier.
    assert_eq!(wake_of_copies(LockKind::Mutex, 30, 12_000), 12_000 + model.calls.pageable_copy.after_ns);
    assert_eq!(wake_of_copies(LockKind::Mutex, 30, -12_000), 0);
    let usual = model.locks.copies.unwrap().wake_ns;
    assert_eq!(wake_of_copies(LockKind::Mutex, 29, 12_000), usual, "too few");
    assert_eq!(wake_of_copies(LockKind::RwLock, 30, 12_000), usual, "another lock");
}

/// A launch waits for a mutex for 900 µs of its 1 ms; the second thread launches when that begins and again when it ends, `held` µs each.
/// `rwlock`: an earlier launch waited for another kind of lock.
fn waits_long(held: Ns, rwlock: bool) -> Trace {
    let mut two = Two::new();
    let [thread, holder] = two.threads;
    let at = |us: Ns| 10_000_000 + 1_000 * us;
    two.launches(0, 0, 5_000);
    let early = two.launches(0, 100_000, 190_000);
    let holder_call = two.launches(1, at(0), at(held));
    let releaser_call = two.launches(1, at(950 - held), at(950));
    let call = two.launches(0, at(40), at(1_040));
    let (layer, holders, releaser) = (LockLayer::Driver, 1, holder);
    let library = two.trace.strings.intern("libcuda.so.1");
    let wait = Wait { thread, layer, lock: 0x10, library, holders, holder, releaser, ..Wait::default() };
    let (start, end, kind) = (at(50), at(950), LockKind::Mutex);
    two.trace.waits.push(Wait { start, end, kind, call, holder_call, releaser_call, ..wait });
    if rwlock {
        let (start, end, kind) = (110_000, 180_000, LockKind::RwLock);
        two.trace.waits.push(Wait { start, end, kind, call: early, lock: 0x20, ..wait });
    }
    two.launches(0, at(2_000), at(2_005));
    two.trace.join();
    two.trace
}

/// Cost of that launch by itself, µs.
fn own_cost(held: Ns, rwlock: bool) -> Ns {
    let steps = recover(&waits_long(held, rwlock)).unwrap().recorded.threads;
    let costs = steps.iter().flatten().filter_map(|step| match step {
        RecordedStep::Call(call) => Some(call.before_ns + call.held_ns + call.after_ns),
        _ => None,
    });
    let others = [5_000, 90_000, 20_000, held * 1_000];
    costs.filter(|own| !others.contains(own)).max().unwrap_or(0) / 1_000
}

#[test]
fn a_launch_that_others_pass_over_costs_what_it_took() {
    assert_eq!(own_cost(70, false), 1_000);
}

#[test]
fn without_the_lock_it_costs_less() {
    let trace = waits_long(70, false);
    let (explanation, losses) = explain_each(&trace, &Options::default());
    let finding = explanation.findings.iter().find(|finding| finding.cause == Cause::DriverLock);
    let removed = Removed::of(&finding.expect("a finding").id, &explanation, &losses).unwrap();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let predicted = predictor.predict(&[Change::Removed(&removed)]).unwrap().expect("a change");
    assert_eq!(predicted.before_ns - predicted.predicted_ns, 900_000);
}

#[test]
fn a_launch_that_waits_for_a_long_call_does_not() {
    // The calls could have held it for 540 of 900 µs.
    assert_eq!(own_cost(320, false), 100);
    // They may have waited for another lock with the mutex in hand.
    assert_eq!(own_cost(70, true), 100);
}
