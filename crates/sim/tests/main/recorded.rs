//! Recorded steps in virtual time. Times are small numbers of nanoseconds, so that each can be added up by hand.

mod queues;

use sim::{
    CallOf, Does, Error, Locks, Meets, Model, Options, Recorded, RecordedStep, Replayed, Rows, Rule, StepAt,
    Until, Use, Waited, Work, WorkKind, run_recorded,
};
use trace::CopyKind;
use workload::{StreamKind, Workload};

/// More threads than a device has.
const ALL: u32 = u32::MAX;

/// A program whose steps are added one by one.
struct Program(Recorded);

impl Program {
    /// So many processes on one device, each with so many streams, which share no hardware queue.
    fn of(processes: usize, streams: usize) -> Program {
        let mut workload = Workload::new("recorded");
        for number in 0..processes {
            let process = workload.process(format!("p{number}"));
            let context = process.primary(0);
            for stream in 0..streams {
                process.stream(format!("s{stream}"), context, StreamKind::NonBlocking);
            }
        }
        Program(Recorded {
            workload,
            threads: Vec::new(),
            works: Vec::new(),
            queues: vec![None; processes * streams],
            exclusive: Vec::new(),
            signals: 0,
            locks: 0,
            holds: 0,
            behind: Vec::new(),
            awaited: Vec::new(),
        })
    }

    /// One process with so many streams.
    fn new(streams: usize) -> Program {
        Program::of(1, streams)
    }

    /// Adds a thread to the first process.
    fn thread(&mut self, steps: &[RecordedStep]) {
        self.thread_of(0, steps);
    }

    fn thread_of(&mut self, process: usize, steps: &[RecordedStep]) {
        let process = &mut self.0.workload.processes[process];
        let context = workload::ContextId(0);
        process.thread(format!("t{}", process.threads.len()), context);
        self.0.threads.push(steps.to_vec());
    }

    /// Adds an operation. Its latency is 5 ns, its gap 2 ns.
    fn work(&mut self, stream: u32, kind: WorkKind, ns: i64) -> u32 {
        let (latency_ns, gap_ns) = (Some(5), Some(2));
        self.0.works.push(Work {
            stream,
            kind,
            ns,
            latency_ns,
            gap_ns,
            after: None,
            alone: false,
            meets: None,
        });
        self.0.works.len() as u32 - 1
    }

    /// Adds a kernel that leaves room for others.
    fn kernel(&mut self, stream: u32, ns: i64) -> u32 {
        self.work(stream, WorkKind::Kernel { threads: 32, in_graph: false }, ns)
    }

    /// Adds a call that takes `before` ns, issues one operation, and takes `after` ns more.
    fn launch(&mut self, work: u32, before: i64, after: i64) -> CallOf {
        let does = Does::Issue { works: Rows { first: work, count: 1 }, waits: false };
        CallOf { before_ns: before, after_ns: after, does, ..CallOf::default() }
    }

    /// Adds a call that waits for operations.
    fn await_(&mut self, works: &[u32], before: i64, notice: i64, after: i64) -> CallOf {
        let rows = Rows { first: self.0.awaited.len() as u32, count: works.len() as u32 };
        self.0.awaited.extend(works);
        let does = Does::Await(rows);
        CallOf { before_ns: before, notice_ns: notice, after_ns: after, does, ..CallOf::default() }
    }

    /// The number of a new call that others wait behind.
    fn hold(&mut self) -> u32 {
        self.0.holds += 1;
        self.0.holds - 1
    }

    /// Adds the calls that a call waits behind.
    fn behind(&mut self, holds: &[(u32, i64)]) -> Rows {
        let rows = Rows { first: self.0.behind.len() as u32, count: holds.len() as u32 };
        self.0.behind.extend(holds);
        rows
    }

    fn signal(&mut self) -> u32 {
        self.0.signals += 1;
        self.0.signals - 1
    }

    fn lock(&mut self) -> u32 {
        self.0.locks += 1;
        self.0.locks - 1
    }

    fn run(&self) -> Replayed {
        self.run_on(&model())
    }

    fn run_on(&self, model: &Model) -> Replayed {
        run_recorded(&self.0, model, Options::default()).unwrap()
    }
}

/// A model that adds nothing to recorded times.
fn model() -> Model {
    let mut model = Model::load("h200").unwrap();
    model.calls.context_create = Rule::default();
    model.device.issue_ns = 0;
    model.device.queue_gap_ns = 0;
    model.device.notice_ns = 0;
    model.host.processors = 0;
    model
}

fn host(ns: i64) -> RecordedStep {
    RecordedStep::Host(ns)
}

fn call(call: CallOf) -> RecordedStep {
    RecordedStep::Call(call)
}

/// A call that takes this time and has no effect.
fn plain(before: i64, after: i64) -> CallOf {
    CallOf { before_ns: before, after_ns: after, ..CallOf::default() }
}

fn copy(kind: CopyKind) -> WorkKind {
    WorkKind::Copy { kind, pinned: true }
}

#[test]
fn nothing_takes_no_time() {
    let replayed = Program::new(1).run();
    assert_eq!((replayed.steps, replayed.works, replayed.given_up), (vec![], vec![], 0));
    let mut program = Program::new(1);
    program.thread(&[]);
    assert_eq!(program.run().steps, [[0]]);
}

#[test]
fn host_time_and_calls_follow_one_another() {
    let mut program = Program::new(1);
    program.thread(&[host(10), call(plain(3, 4)), call(plain(0, 1)), host(20)]);
    program.thread(&[host(7)]);
    let replayed = program.run();
    assert_eq!(replayed.steps, [vec![0, 10, 17, 18, 38], vec![0, 7]]);
    assert_eq!(replayed.end(), 38);
}

#[test]
fn an_operation_starts_after_its_latency() {
    let mut program = Program::new(1);
    let kernel = program.kernel(0, 100);
    let launch = program.launch(kernel, 3, 4);
    program.thread(&[host(10), call(launch)]);
    let replayed = program.run();
    // 10 + 3 is its effect.
    assert_eq!(replayed.works, [(18, 118)]);
    assert_eq!(replayed.steps, [[0, 10, 17]]);
    assert_eq!(replayed.end(), 118, "the operation ends last");
}

#[test]
fn operations_of_a_stream_follow_one_another_with_their_gaps() {
    for kind in [WorkKind::Fill, copy(CopyKind::HtoD), WorkKind::Kernel { threads: 32, in_graph: false }] {
        let mut program = Program::new(1);
        let works = [program.work(0, kind, 100), program.work(0, kind, 10), program.work(0, kind, 10)];
        program.0.works[2].gap_ns = Some(7);
        let launches = works.map(|work| call(program.launch(work, 1, 0)));
        program.thread(&launches);
        assert_eq!(program.run().works, [(6, 106), (108, 118), (125, 135)], "{kind:?}");
    }
}

#[test]
fn an_operation_that_is_issued_after_the_one_before_has_ended_has_no_gap() {
    let mut program = Program::new(1);
    let works = [program.kernel(0, 10), program.kernel(0, 10)];
    let [first, second] = works.map(|work| call(program.launch(work, 0, 0)));
    program.thread(&[first, host(100), second]);
    assert_eq!(program.run().works, [(5, 15), (105, 115)]);
}

#[test]
fn latency_and_gap_are_the_models_unless_they_are_known() {
    let mut program = Program::new(1);
    let works = [program.kernel(0, 1_000_000), program.kernel(0, 10)];
    for work in &mut program.0.works {
        (work.latency_ns, work.gap_ns) = (None, None);
    }
    let launches = works.map(|work| call(program.launch(work, 0, 0)));
    program.thread(&launches);
    let model = model();
    let start = model.device.latency_ns + model.device.gap_ns;
    let second = start + 1_000_000 + model.device.gap_ns;
    assert_eq!(program.run_on(&model).works, [(start, start + 1_000_000), (second, second + 10)]);
}

#[test]
fn a_call_issues_several_operations_at_once() {
    let mut program = Program::new(2);
    let first = program.kernel(0, 100);
    program.kernel(1, 50);
    let does = Does::Issue { works: Rows { first, count: 2 }, waits: true };
    program.thread(&[call(CallOf { before_ns: 1, after_ns: 2, does, ..CallOf::default() })]);
    let replayed = program.run();
    assert_eq!(replayed.works, [(6, 106), (6, 56)]);
    assert_eq!(replayed.steps, [[0, 108]], "it waits for both");
}

#[test]
fn a_kernel_that_fills_the_device_keeps_others_from_it() {
    for (threads, second) in [(32, (7, 17)), (ALL, (106, 116))] {
        let mut program = Program::new(2);
        let works = [
            program.work(0, WorkKind::Kernel { threads, in_graph: false }, 100),
            program.work(1, WorkKind::Kernel { threads, in_graph: false }, 10),
        ];
        let launches = works.map(|work| call(program.launch(work, 1, 0)));
        program.thread(&launches);
        assert_eq!(program.run().works, [(6, 106), second], "{threads}");
    }
}

#[test]
fn a_copy_runs_beside_a_kernel_and_in_turn_with_those_of_its_direction() {
    let mut program = Program::new(4);
    let full = WorkKind::Kernel { threads: ALL, in_graph: false };
    let works = [
        program.work(0, full, 100),
        program.work(1, copy(CopyKind::HtoD), 30),
        program.work(2, copy(CopyKind::HtoD), 30),
        program.work(3, copy(CopyKind::DtoH), 30),
    ];
    let launches = works.map(|work| call(program.launch(work, 1, 0)));
    program.thread(&launches);
    assert_eq!(program.run().works, [(6, 106), (7, 37), (37, 67), (9, 39)]);
}

#[test]
fn both_directions_take_turns_where_there_is_one_copy_engine() {
    let mut program = Program::new(2);
    let works = [program.work(0, copy(CopyKind::HtoD), 30), program.work(1, copy(CopyKind::DtoH), 30)];
    let launches = works.map(|work| call(program.launch(work, 1, 0)));
    program.thread(&launches);
    let mut model = model();
    model.device.copy_engines = 1;
    assert_eq!(program.run_on(&model).works, [(6, 36), (36, 66)]);
}

#[test]
fn an_operation_waits_for_one_of_another_stream() {
    let mut program = Program::new(2);
    let works = [program.kernel(0, 100), program.kernel(1, 10), program.kernel(1, 10)];
    program.0.works[1].after = Some(0);
    let launches = works.map(|work| call(program.launch(work, 1, 0)));
    program.thread(&launches);
    assert_eq!(program.run().works, [(6, 106), (108, 118), (120, 130)]);
}

#[test]
fn an_operation_does_not_wait_for_one_that_is_issued_later_or_has_ended() {
    for order in [[0, 1], [1, 0]] {
        let mut program = Program::new(2);
        let works = [program.kernel(0, 10), program.kernel(1, 10)];
        program.0.works[works[1] as usize].after = Some(works[0]);
        let [first, second] = order.map(|at: usize| call(program.launch(works[at], 0, 0)));
        program.thread(&[first, host(50), second]);
        let mut starts = program.run().works;
        starts.sort_unstable();
        assert_eq!(starts, [(5, 15), (55, 65)], "{order:?}");
    }
}

#[test]
fn a_call_waits_for_its_own_operation_and_notices_its_end() {
    let mut program = Program::new(1);
    let work = program.work(0, copy(CopyKind::DtoH), 100);
    let does = Does::Issue { works: Rows { first: work, count: 1 }, waits: true };
    let copy = CallOf { before_ns: 3, notice_ns: 7, after_ns: 4, does, ..CallOf::default() };
    program.thread(&[call(copy), host(1)]);
    let replayed = program.run();
    assert_eq!(replayed.works, [(8, 108)]);
    assert_eq!(replayed.steps, [[0, 119, 120]]);
}

#[test]
fn a_call_waits_for_operations_and_notices_their_end() {
    let mut program = Program::new(2);
    let works = [program.kernel(0, 100), program.kernel(1, 200)];
    let [first, second] = works.map(|work| call(program.launch(work, 1, 0)));
    let both = program.await_(&works, 10, 7, 4);
    program.thread(&[first, second, call(both)]);
    assert_eq!(program.run().steps, [[0, 1, 2, 218]], "2 + 5 + 200 is the end of the second");
}

#[test]
fn a_call_that_has_nothing_to_wait_for_has_nothing_to_notice() {
    let mut program = Program::new(1);
    let work = program.kernel(0, 10);
    let launch = program.launch(work, 0, 0);
    let wait = program.await_(&[work], 3, 7, 4);
    program.thread(&[call(launch), host(100), call(wait)]);
    assert_eq!(program.run().steps, [[0, 0, 100, 107]]);
}

#[test]
fn a_call_waits_for_an_operation_that_another_thread_issues_later() {
    let mut program = Program::new(1);
    let work = program.kernel(0, 10);
    let wait = program.await_(&[work], 0, 0, 1);
    let launch = program.launch(work, 0, 0);
    program.thread(&[call(wait)]);
    program.thread(&[host(500), call(launch)]);
    let replayed = program.run();
    assert_eq!((&replayed.steps[0][..], replayed.given_up), (&[0, 516][..], 0));
}

/// Of a stream into which another thread issues at 500 and at 600, 100 ns each.
#[test]
fn a_synchronization_waits_for_what_is_in_the_stream_by_then() {
    for (begins, ends) in [(0, 1), (499, 500), (501, 606), (601, 708), (800, 801)] {
        let mut program = Program::new(2);
        let works = [program.kernel(1, 100), program.kernel(1, 100)];
        let [first, second] = works.map(|work| call(program.launch(work, 0, 0)));
        let wait = CallOf { after_ns: 1, does: Does::Synchronize(1), ..CallOf::default() };
        program.thread(&[host(begins), call(wait)]);
        program.thread(&[host(500), first, host(100), second]);
        assert_eq!(program.run().steps[0].last(), Some(&ends), "{begins}");
    }
}

#[test]
fn a_thread_waits_until_a_signal_is_posted() {
    for (after, goes_on) in [(100, 108), (40, 50)] {
        let mut program = Program::new(1);
        let signal = program.signal();
        program.thread(&[host(after), RecordedStep::Post(signal), host(1)]);
        program.thread(&[host(50), RecordedStep::Await { signal, handoff_ns: 8 }, host(1)]);
        let replayed = program.run();
        assert_eq!(replayed.steps[0], [0, after, after, after + 1]);
        assert_eq!(replayed.steps[1], [0, 50, goes_on, goes_on + 1], "the hand-off costs only if it waited");
    }
}

#[test]
fn a_thread_gives_up_its_wait_for_a_signal_that_is_not_posted() {
    for (posted, [first, second]) in [(200, [80, 110]), (90, [80, 90]), (60, [60, 60]), (10, [50, 50])] {
        let mut program = Program::new(1);
        let signal = program.signal();
        let gives_up = RecordedStep::GiveUp { signal, ns: 30 };
        program.thread(&[host(posted), RecordedStep::Post(signal)]);
        program.thread(&[host(50), gives_up, gives_up, RecordedStep::Await { signal, handoff_ns: 0 }]);
        let replayed = program.run();
        assert_eq!(replayed.steps[1], [0, 50, first, second, second.max(posted)], "{posted}");
    }
}

/// A thread launches and waits for a kernel in each of four rounds, and another one waits for its third kernel and for a signal of its
/// fourth round.
#[test]
fn a_thread_leaves_its_loop_once_a_signal_is_posted() {
    for (posted, left, ends) in [(1_000, 400, 1_050), (150, 200, 250), (200, 200, 250), (201, 315, 350)] {
        let mut program = Program::new(1);
        let (signal, inner) = (program.signal(), program.signal());
        program.thread(&[host(posted), RecordedStep::Post(signal)]);
        let works = [(); 4].map(|()| program.kernel(1, 10));
        let third = program.await_(&[works[2]], 0, 0, 0);
        let rounds =
            works.map(|work| [RecordedStep::Leave(signal), host(100), call(program.launch(work, 0, 0))]);
        let end = [RecordedStep::Post(inner), RecordedStep::Await { signal, handoff_ns: 0 }, host(50)];
        program.thread(&[&rounds.concat()[..], &end].concat());
        program.thread(&[call(third), RecordedStep::Await { signal: inner, handoff_ns: 0 }]);
        let replayed = program.run();
        assert_eq!(replayed.steps[1].last(), Some(&ends), "{posted}");
        assert_eq!(replayed.steps[2].last(), Some(&left), "{posted}");
        assert_eq!(replayed.given_up, 0);
    }
}

/// As one that waits, but it keeps its lock.
#[test]
fn a_thread_computes_until_a_signal_is_posted() {
    for (posted, ends) in [(200, 80), (60, 60), (10, 50)] {
        let mut program = Program::new(1);
        let (signal, lock) = (program.signal(), program.lock());
        let acquire = RecordedStep::Acquire { lock, handoff_ns: 0 };
        program.thread(&[host(posted), RecordedStep::Post(signal)]);
        let computes = RecordedStep::HostUntil { signal, ns: 30 };
        program.thread(&[acquire, host(50), computes, RecordedStep::Release(lock)]);
        program.thread(&[host(20), acquire, RecordedStep::Release(lock)]);
        let replayed = program.run();
        assert_eq!(replayed.steps[1], [0, 0, 50, ends, ends], "{posted}");
        assert_eq!(replayed.steps[2], [0, 20, ends, ends], "{posted}");
    }
}

#[test]
fn a_signal_lets_all_threads_go_on() {
    let mut program = Program::new(1);
    let signal = program.signal();
    program.thread(&[host(100), RecordedStep::Post(signal)]);
    for handoff_ns in [1, 2] {
        program.thread(&[RecordedStep::Await { signal, handoff_ns }]);
    }
    assert_eq!(program.run().steps[1..], [[0, 101], [0, 102]]);
}

#[test]
fn a_lock_passes_in_the_order_in_which_threads_come() {
    let mut program = Program::new(1);
    let (acquire, release) =
        (RecordedStep::Acquire { lock: program.lock(), handoff_ns: 3 }, RecordedStep::Release(0));
    program.thread(&[acquire, acquire, host(100), release, host(1)]);
    program.thread(&[host(20), acquire, host(50), release]);
    program.thread(&[host(10), acquire, host(50), release]);
    // Free by then.
    program.thread(&[host(500), release, acquire, host(5), release]);
    let replayed = program.run();
    assert_eq!(replayed.steps[0], [0, 0, 0, 100, 100, 101]);
    assert_eq!(replayed.steps[2], [0, 10, 103, 153, 153]);
    assert_eq!(replayed.steps[1], [0, 20, 156, 206, 206]);
    assert_eq!(replayed.steps[3], [0, 500, 500, 500, 505, 505]);
}

#[test]
fn a_lock_that_is_never_released_is_given_up() {
    let mut program = Program::new(1);
    let lock = program.lock();
    program.thread(&[RecordedStep::Acquire { lock, handoff_ns: 0 }]);
    program.thread(&[host(10), RecordedStep::Acquire { lock, handoff_ns: 0 }, host(1)]);
    let replayed = program.run();
    assert_eq!((&replayed.steps[1][..], replayed.given_up), (&[0, 10, 10, 11][..], 1));
}

#[test]
fn a_signal_that_nobody_posts_is_a_deadlock() {
    let mut program = Program::new(1);
    let signal = program.signal();
    program.thread(&[RecordedStep::Await { signal, handoff_ns: 0 }]);
    let error = run_recorded(&program.0, &model(), Options::default()).unwrap_err();
    let waiting = "t0 of p0 waits for another thread".to_owned();
    assert_eq!(error, Error::Deadlock { at_ms: 0, waiting });
}

/// Two threads: the first one's call holds until a moment, the second one's begins `later` ns after it and is behind it. Returns
/// when the second returns.
fn behind(until: Until, later: i64) -> i64 {
    let mut program = Program::new(1);
    let hold = program.hold();
    let work = program.kernel(0, 100);
    let does = Does::Issue { works: Rows { first: work, count: 1 }, waits: true };
    let holds = Some((hold, until));
    let holder = CallOf { before_ns: 10, notice_ns: 20, after_ns: 30, holds, does, ..CallOf::default() };
    program.thread(&[call(holder)]);
    let behind = program.behind(&[(hold, 3)]);
    program.thread(&[host(later), call(CallOf { behind, ..plain(1, 2) })]);
    let replayed = program.run();
    assert_eq!(replayed.works, [(15, 115)]);
    assert_eq!(replayed.steps[0], [0, 165]);
    replayed.steps[1][2]
}

#[test]
fn a_call_waits_behind_another_one_until_its_moment() {
    assert_eq!(behind(Until::Effect, 5), 10 + 3 + 2);
    assert_eq!(behind(Until::Done, 5), 115 + 3 + 2);
    assert_eq!(behind(Until::Return, 5), 165 + 3 + 2);
}

#[test]
fn waits_are_reported_with_the_call_that_held_the_lock() {
    let mut program = Program::new(1);
    let hold = program.hold();
    program.thread(&[host(1), call(CallOf { holds: Some((hold, Until::Return)), ..plain(10, 10) })]);
    let behind = program.behind(&[(hold, 3)]);
    program.thread(&[
        host(5),
        call(CallOf { behind, ..plain(1, 2) }),
        call(CallOf { behind, ..plain(1, 2) }),
    ]);
    let holder = StepAt { thread: 0, step: 1 };
    let by = StepAt { thread: 1, step: 1 };
    let wait = Waited { start: 6, end: 21 + 3, by, holder, exclusive: true };
    assert_eq!(program.run().waits, [wait], "the second call does not wait");
}

#[test]
fn a_wait_for_the_lock_of_a_context_is_reported() {
    let mut program = Program::new(1);
    let locks = Locks { context: Use::Exclusive, staged: Use::Exclusive, ..Locks::default() };
    let kernels = [program.kernel(0, 1), program.kernel(0, 1)];
    let [first, second] = kernels.map(|kernel| program.launch(kernel, 0, 0));
    program.thread(&[call(CallOf { held_ns: 100, locks, ..first })]);
    program.thread(&[host(10), call(CallOf { held_ns: 20, locks, ..second })]);
    let replayed = program.run();
    let [holder, by] = [(0, 0), (1, 1)].map(|(thread, step)| StepAt { thread, step });
    let [Waited { start: 10, end, .. }] = replayed.waits[..] else { panic!("{:?}", replayed.waits) };
    assert_eq!(replayed.waits, [Waited { start: 10, end, by, holder, exclusive: true }]);
    assert!(end >= 100 && replayed.steps[1][2] == end + 20, "{replayed:?}");
}

/// When two launches that need the lock of their context shared return, into a stream each; the second one begins while the first one holds
/// it. `exclusive`: whether calls need it exclusively there.
fn ends_of_launches(exclusive: &[bool]) -> [i64; 2] {
    let mut program = Program::new(2);
    program.0.exclusive = exclusive.to_vec();
    let locks = Locks { context: Use::Shared, staged: Use::Shared, ..Locks::default() };
    for (stream, begins) in [(0, 0), (1, 10)] {
        let kernel = program.kernel(stream, 1);
        let launch = program.launch(kernel, 0, 0);
        program.thread(&[host(begins), call(CallOf { held_ns: 50, locks, ..launch })]);
    }
    let replayed = program.run();
    [0, 1].map(|thread| replayed.steps[thread][2])
}

#[test]
fn launches_into_an_exclusive_stream_exclude_those_into_all_streams() {
    assert_eq!(ends_of_launches(&[]), [50, 60]);
    assert_eq!(ends_of_launches(&[false, false]), [50, 60]);
    // It is handed over in 100 ns.
    assert_eq!(ends_of_launches(&[true, false]), [50, 200]);
    assert_eq!(ends_of_launches(&[false, true]), [50, 200]);
}

#[test]
fn a_launch_mutex_is_acquired_in_the_order_of_arrival() {
    let mut program = Program::new(1);
    let locks = Locks { mutex: true, ..Locks::default() };
    for (before_ns, thread) in [(0, 0), (30, 1), (20, 2)] {
        let kernel = program.kernel(0, 1);
        let launch = program.launch(kernel, before_ns, 5);
        program.thread(&[call(CallOf { held_ns: 100, locks, ..launch }), host(thread)]);
    }
    let replayed = program.run();
    let ends: Vec<i64> = replayed.steps.iter().map(|steps| steps[1]).collect();
    assert_eq!(ends, [105, 705, 405], "each holds it for 100 ns, and hands it over in 200");
    let holders: Vec<_> = replayed.waits.iter().map(|wait| (wait.by.thread, wait.holder.thread)).collect();
    assert_eq!(holders, [(2, 0), (1, 0)]);
}

#[test]
fn a_call_does_its_own_work_after_its_wait() {
    let mut program = Program::new(1);
    let hold = program.hold();
    program.thread(&[call(CallOf { holds: Some((hold, Until::Return)), ..plain(0, 100) })]);
    let (behind, work) = (program.behind(&[(hold, 3)]), program.kernel(0, 10));
    let launch = program.launch(work, 1, 2);
    program.thread(&[call(CallOf { behind, held_ns: 40, ..launch })]);
    let replayed = program.run();
    assert_eq!(replayed.steps[1], [0, 100 + 3 + 40 + 2]);
    assert_eq!(replayed.works, [(148, 158)]);
}

#[test]
fn a_call_does_not_wait_behind_one_that_is_past_its_moment() {
    for (until, past) in [(Until::Effect, 11), (Until::Done, 116), (Until::Return, 166)] {
        assert_eq!(behind(until, past), past + 3, "{until:?}");
    }
}

#[test]
fn a_call_does_not_wait_behind_one_that_has_not_begun() {
    let mut program = Program::new(1);
    let hold = program.hold();
    program.thread(&[host(50), call(CallOf { holds: Some((hold, Until::Return)), ..plain(10, 10) })]);
    let behind = program.behind(&[(hold, 3)]);
    program.thread(&[host(40), call(CallOf { behind, ..plain(1, 2) })]);
    assert_eq!(program.run().steps, [[0, 50, 70], [0, 40, 43]]);
}

#[test]
fn a_call_waits_behind_several_one_after_the_other() {
    let mut program = Program::new(1);
    let holds = [program.hold(), program.hold()];
    for (hold, ns) in holds.into_iter().zip([100, 300]) {
        program.thread(&[call(CallOf { holds: Some((hold, Until::Return)), ..plain(0, ns) })]);
    }
    let behind = program.behind(&[(holds[0], 3), (holds[1], 5)]);
    program.thread(&[host(1), call(CallOf { behind, ..plain(1, 2) })]);
    assert_eq!(program.run().steps[2], [0, 1, 307]);
}

#[test]
fn calls_that_wait_behind_each_other_do_not_wait_for_ever() {
    let mut program = Program::new(1);
    let holds = [program.hold(), program.hold()];
    for (mine, other) in [(0, 1), (1, 0)] {
        let behind = program.behind(&[(holds[other], 3)]);
        let holds = Some((holds[mine], Until::Return));
        program.thread(&[host(1 + mine as i64), call(CallOf { behind, holds, ..plain(10, 5) })]);
    }
    let replayed = program.run();
    // The first one waits behind the second, which had begun; that one does not wait behind the first.
    assert_eq!(replayed.steps, [[0, 1, 25], [0, 2, 17]]);
    assert_eq!(replayed.given_up, 0);
}

#[test]
fn a_call_does_not_wait_behind_one_that_waits_for_its_operation() {
    let mut program = Program::new(1);
    let hold = program.hold();
    let work = program.kernel(0, 10);
    let wait = program.await_(&[work], 0, 0, 1);
    program.thread(&[call(CallOf { holds: Some((hold, Until::Return)), ..wait })]);
    let behind = program.behind(&[(hold, 3)]);
    let launch = program.launch(work, 10, 0);
    program.thread(&[call(CallOf { behind, ..launch })]);
    let replayed = program.run();
    assert_eq!((&replayed.steps, replayed.given_up), (&vec![vec![0, 26], vec![0, 10]], 0));
    assert_eq!(replayed.works, [(15, 25)]);
}

#[test]
fn a_lock_is_not_waited_for_by_a_thread_that_its_holder_waits_for() {
    let mut program = Program::new(1);
    let lock = program.lock();
    let acquire = RecordedStep::Acquire { lock, handoff_ns: 0 };
    let work = program.kernel(0, 10);
    let wait = program.await_(&[work], 0, 0, 1);
    program.thread(&[acquire, call(wait), RecordedStep::Release(lock)]);
    let launch = program.launch(work, 0, 0);
    program.thread(&[host(100), acquire, call(launch)]);
    let replayed = program.run();
    assert_eq!((&replayed.steps[1][..], replayed.given_up), (&[0, 100, 100, 100][..], 1));
    // The other way round: the holder is the one that comes last.
    let mut program = Program::new(1);
    let lock = program.lock();
    let acquire = RecordedStep::Acquire { lock, handoff_ns: 0 };
    let work = program.kernel(0, 10);
    let wait = program.await_(&[work], 0, 0, 1);
    program.thread(&[acquire, host(100), call(wait), RecordedStep::Release(lock)]);
    let launch = program.launch(work, 0, 0);
    program.thread(&[host(50), acquire, call(launch)]);
    let replayed = program.run();
    assert_eq!((&replayed.steps[1][..2], replayed.steps[0][3], replayed.given_up), (&[0, 50][..], 101, 1));
}

#[test]
fn a_thread_that_waits_for_a_signal_has_released_its_locks() {
    let mut program = Program::new(1);
    let (lock, signal) = (program.lock(), program.signal());
    let acquire = RecordedStep::Acquire { lock, handoff_ns: 0 };
    program.thread(&[acquire, host(10), RecordedStep::Await { signal, handoff_ns: 0 }, host(1)]);
    program.thread(&[host(5), acquire, host(7), RecordedStep::Post(signal)]);
    let replayed = program.run();
    assert_eq!((&replayed.steps[0][..], replayed.given_up), (&[0, 0, 10, 17, 18][..], 0));
}

#[test]
fn waits_that_would_never_end_are_given_up() {
    // Nobody issues the operation.
    let mut program = Program::new(1);
    let work = program.kernel(0, 10);
    for _ in 0..2 {
        let wait = program.await_(&[work], 7, 0, 1);
        program.thread(&[call(wait)]);
    }
    let replayed = program.run();
    assert_eq!((replayed.steps, replayed.given_up), (vec![vec![0, 8], vec![0, 8]], 2));
}

/// Two processes with a kernel of 10 ms each, launched at the same time.
fn two_processes(mps: bool, threads: u32) -> Vec<(i64, i64)> {
    let mut program = Program::of(2, 1);
    program.0.workload.mps = mps;
    for process in 0..2 {
        let kernel = program.work(process, WorkKind::Kernel { threads, in_graph: false }, 10_000_000);
        let launch = program.launch(kernel, 0, 0);
        program.thread_of(process as usize, &[call(launch)]);
    }
    program.run().works
}

#[test]
fn processes_take_turns_without_mps_and_share_the_device_with_it() {
    assert_eq!(two_processes(true, 32), [(5, 10_000_005); 2]);
    assert_eq!(two_processes(true, ALL), [(5, 10_000_005), (10_000_005, 20_000_005)]);
    let turns = two_processes(false, 32);
    let model = model();
    let end = turns.iter().map(|(_, end)| *end).max().unwrap();
    // Slices of one, slices of the other, and switches between them.
    let switches = 20_000_000 / model.sharing.slice_ns;
    let expected = 20_000_000 + switches * model.sharing.switch_ns;
    assert!((end - expected).abs() <= model.sharing.switch_ns + 10, "{turns:?}, {expected}");
}

#[test]
fn a_run_is_the_same_again() {
    let mut program = Program::new(2);
    let works = [program.kernel(0, 100), program.kernel(1, 100)];
    let launches = works.map(|work| call(program.launch(work, 1, 0)));
    program.thread(&launches);
    let wait = program.await_(&works, 1, 1, 1);
    program.thread(&[host(1), call(wait)]);
    assert_eq!(program.run(), program.run());
}

#[test]
fn a_device_that_the_model_lacks_is_refused() {
    let mut program = Program::new(1);
    program.0.workload.processes[0].contexts[0].device = 9;
    let error = run_recorded(&program.0, &model(), Options::default()).unwrap_err();
    assert!(matches!(error, Error::NoDevice { .. }), "{error}");
}

/// Two kernels of a collective that exchange data for 30 and 32 ns, launched by two threads after these times.
fn collective(first: i64, second: i64) -> Program {
    let mut program = Program::new(2);
    for (stream, (until, ns)) in (0..).zip([(first, 30), (second, 32)]) {
        let kernel = program.kernel(stream, 500);
        program.0.works[kernel as usize].meets = Some(Meets { number: 7, ns });
        let launch = program.launch(kernel, 0, 1);
        program.thread(&[host(until), call(launch)]);
    }
    program
}

#[test]
fn kernels_of_a_collective_end_when_the_last_has_begun_and_data_is_exchanged() {
    // Each begins 5 ns after its launch.
    let both = |program: Program| program.run().works;
    assert_eq!(both(collective(10, 200)), [(15, 235), (205, 237)]);
    assert_eq!(both(collective(300, 200)), [(305, 335), (205, 337)]);
    assert_eq!(both(collective(10, 10)), [(15, 45), (15, 47)]);
}

#[test]
fn what_is_in_the_stream_waits_for_the_collective() {
    let mut program = collective(10, 200);
    let next = program.kernel(0, 100);
    let launch = program.launch(next, 0, 1);
    program.0.threads[0].push(call(launch));
    let replayed = program.run();
    // Its gap is 2 ns.
    assert_eq!(replayed.works[2], (237, 337));
    assert_eq!(replayed.given_up, 0);
}

#[test]
fn a_kernel_whose_collective_never_comes_is_given_up() {
    let mut program = collective(10, 200);
    program.0.threads[1].pop();
    let awaited = program.await_(&[0], 0, 0, 1);
    program.0.threads[0].push(call(awaited));
    let replayed = program.run();
    assert_eq!((replayed.works[0], replayed.given_up), ((15, 200), 1));
}

/// When a thread's launch, 30 ns after another thread began to copy for 105 ns, and its wait for a kernel of 20 ns return; both cost 7 ns
/// more beside copies to pageable memory. Each process has two streams.
fn beside(kind: CopyKind, pinned: bool, other: usize, begins: i64) -> [i64; 2] {
    let mut program = Program::of(2, 2);
    let copied = program.work(2 * other as u32 + 1, WorkKind::Copy { kind, pinned }, 100);
    let does = Does::Issue { works: Rows { first: copied, count: 1 }, waits: true };
    let kernel = program.kernel(0, 20);
    let launch = CallOf { beside_ns: 7, ..program.launch(kernel, 10, 0) };
    let wait = CallOf { beside_ns: 7, ..program.await_(&[kernel], 0, 0, 3) };
    program.thread_of(0, &[host(30), call(launch), call(wait)]);
    program.thread_of(other, &[host(begins), call(CallOf { does, ..CallOf::default() })]);
    let steps = program.run().steps;
    [steps[0][2], steps[0][3]]
}

#[test]
fn calls_cost_more_beside_copies_to_pageable_memory() {
    assert_eq!(beside(CopyKind::DtoH, false, 0, 0), [47, 47 + 25 + 3 + 7]);
    let costs = [40, 40 + 25 + 3];
    assert_eq!(beside(CopyKind::HtoD, false, 0, 0), costs, "from pageable memory");
    assert_eq!(beside(CopyKind::DtoH, true, 0, 0), costs, "page-locked memory");
    assert_eq!(beside(CopyKind::DtoH, false, 1, 0), costs, "in another context");
    assert_eq!(beside(CopyKind::DtoH, false, 0, 45), costs, "later");
}
