//! Threads that end, or stop waiting, because another thread comes to it.

use crate::support::add_process;
use replay::{Change, Faster, Fit, Predictor, recover};
use trace::*;

const MS: Ns = 1_000_000;
/// The main thread computes for so long.
const COMPUTES: Ns = 100 * MS;

/// A program whose main thread launches a kernel, computes, launches another one, and waits for a second thread from `waits` to `ends`. Then
/// it calls once more.
struct Program {
    trace: Trace,
    main: ThreadId,
    other: ThreadId,
}

impl Program {
    fn new(kind: LockKind, waits: Ns, ends: Ns) -> Program {
        let mut trace = Trace::default();
        let (main, stream) = add_process(&mut trace, 1);
        let process = trace.threads.process[main.index()];
        let other = trace.threads.push(Thread { process, tid: 2, ..Thread::default() });
        let mut program = Program { trace, main, other };
        for (correlation, start) in (1..).zip([0, COMPUTES + 10_000]) {
            program.calls(main, "cudaLaunchKernel", start, correlation);
            let op = Op { start: start + 8_000, end: start + 10_000, stream, correlation, ..Op::default() };
            program.trace.ops.push(Op { kind: OpKind::Kernel, grid_x: 64, block_x: 64, ..op });
        }
        program.calls(other, "cudaSetDevice", 10_000, 3);
        let (layer, lock) = (LockLayer::Program, 0x30);
        let wait = Wait { kind, lock, releaser: other, layer, ..Wait::default() };
        program.trace.waits.push(Wait { start: waits, end: ends, thread: main, ..wait });
        program.calls(main, "cudaSetDevice", ends + 5_000, 4);
        let file = program.trace.strings.intern("train.py");
        let frame = program.trace.frames.push(Frame { file, line: 7, ..Frame::default() });
        let stack = program.trace.stacks.push(Stack { frame, caller: StackId::NONE });
        for part in 1..100 {
            let (at, state) = (part * COMPUTES / 100, ThreadState::Running);
            program.trace.samples.push(Sample { at, thread: main, stack, state });
        }
        program
    }

    fn calls(&mut self, thread: ThreadId, name: &str, start: Ns, correlation: i64) {
        let name = self.trace.strings.intern(name);
        self.trace.calls.push(Call {
            start,
            end: start + 5_000,
            thread,
            name,
            correlation,
            ..Call::default()
        });
    }

    /// The second thread's first call begins at this moment.
    fn other_begins(&mut self, at: Ns) {
        let calls = &mut self.trace.calls;
        let first = calls.ids().find(|call| calls.thread[call.index()] == self.other).unwrap().index();
        (calls.start[first], calls.end[first]) = (at, at + 5_000);
    }

    /// The second thread is in a state from `start` to `end`; for so long of it on a processor.
    fn is(&mut self, start: Ns, end: Ns, running: Ns, call: &str) {
        let (thread, state) = (self.other, ThreadState::Blocked);
        let call = self.trace.strings.intern(call);
        self.trace.states.push(State { start, end, thread, running, state, call, ..State::default() });
    }

    /// How much earlier the program ends if the main thread computes nothing, ms.
    fn gain(mut self) -> Ns {
        let mut waits: Vec<Wait> = self.trace.waits.ids().map(|at| self.trace.waits.row(at)).collect();
        waits.sort_by_key(|wait| wait.start);
        self.trace.waits.clear();
        for wait in waits {
            self.trace.waits.push(wait);
        }
        self.trace.join();
        let base = recover(&self.trace).unwrap();
        let replayed = base.replay().unwrap();
        let fit = Fit::of(&self.trace, &base, &replayed);
        assert_eq!((fit.wall_error, fit.given_up), (0.0, 0));
        let predictor = Predictor::new(&self.trace, &base, &fit, &|_| {}).unwrap();
        let faster: Faster = "host:train.py:7=1000000x".parse().unwrap();
        let predicted = predictor.predict(&[Change::Faster(&faster)]).unwrap().expect("a change");
        (predicted.before_ns - predicted.predicted_ns + MS / 2) / MS
    }
}

const WAITS: Ns = COMPUTES + 2 * MS;

/// The second thread sleeps from 1 ms on, and ends 30 ms after the main one waits for that.
fn sleeper(call: &str, running: Ns) -> Ns {
    let mut program = Program::new(LockKind::Join, WAITS, WAITS + 30 * MS);
    program.is(MS, WAITS + 30 * MS, running, call);
    program.gain()
}

#[test]
fn a_thread_that_sleeps_ends_once_another_one_waits_for_its_end() {
    assert_eq!(sleeper("poll", 0), 100);
    assert_eq!(sleeper("futex", 5 * MS), 100);
}

#[test]
fn a_thread_that_sleeps_for_so_long_does_not_end_earlier() {
    assert_eq!(sleeper("clock_nanosleep", 0), 0);
}

#[test]
fn a_thread_that_computes_does_not_end_earlier() {
    assert_eq!(sleeper("", WAITS + 28 * MS), 0);
    assert_eq!(sleeper("", 20 * MS), 0);
}

/// It was awake 10 ms before the other one came: what it then sleeps for 30 ms may be anything.
#[test]
fn a_thread_that_has_just_begun_to_sleep_does_not_end_earlier() {
    let mut program = Program::new(LockKind::Join, WAITS, WAITS + 30 * MS);
    program.is(MS, WAITS - 10 * MS, WAITS - 11 * MS, "");
    program.is(WAITS - 10 * MS, WAITS + 30 * MS, 0, "poll");
    assert_eq!(program.gain(), 0);
}

/// The second thread sleeps from 1 ms on, and meets the main one's condition; then it computes for so long.
fn counts_itself_off(computes: Ns) -> Ns {
    let mut program = Program::new(LockKind::Condition, WAITS, WAITS + 30 * MS);
    program.is(MS, WAITS + 30 * MS, 0, "futex");
    program.is(WAITS + 30 * MS, WAITS + 30 * MS + computes, computes, "");
    program.gain()
}

#[test]
fn a_thread_that_sleeps_does_its_last_thing_once_another_one_waits_for_that() {
    assert_eq!(counts_itself_off(MS), 100);
}

#[test]
fn a_thread_that_then_lives_on_does_not_do_it_earlier() {
    assert_eq!(counts_itself_off(200 * MS), 0);
}

/// It wakes a moment before the main thread waits for it, calls, and ends.
#[test]
fn a_thread_that_was_told_before_ends_earlier() {
    let mut program = Program::new(LockKind::Join, WAITS, WAITS + 10 * MS);
    program.is(MS, WAITS - MS, 0, "poll");
    program.is(WAITS - MS, WAITS + 10 * MS, 9 * MS, "");
    program.calls(program.other, "cudaSetDevice", WAITS + 5 * MS, 5);
    assert_eq!(program.gain(), 100);
}

/// The second thread waits for a condition for 20 ms at a time, which `met` says the main thread meets in the end; then it ends.
fn given_up(met: bool, of: i64) -> Ns {
    let mut program = Program::new(LockKind::Join, WAITS, WAITS + MS);
    let condition = LockKind::Condition;
    let wait = Wait { kind: condition, lock: 0x10, layer: LockLayer::Program, ..Wait::default() };
    for start in [1, 22, 43, 64].map(|at| at * MS) {
        let (thread, end) = (program.other, start + 20 * MS);
        program.trace.waits.push(Wait { start, end, thread, lock: of, ..wait });
    }
    let releaser = if met { program.main } else { ThreadId::NONE };
    let (start, end, thread) = (85 * MS, WAITS - MS, program.other);
    program.trace.waits.push(Wait { start, end, thread, releaser, ..wait });
    program.calls(program.other, "cudaSetDevice", WAITS, 5);
    program.gain()
}

/// Before, between and after its waits the second thread takes 7 of the 103 ms.
#[test]
fn waits_that_are_given_up_end_once_the_condition_is_met() {
    assert_eq!(given_up(true, 0x10), 96);
}

#[test]
fn waits_for_what_nobody_meets_take_their_time() {
    assert_eq!(given_up(false, 0x10), 0);
    // Those of another condition; the last wait begins at 85 ms.
    assert_eq!(given_up(true, 0x20), 16);
}

/// The second thread computes, and ends `later` than the main one comes that waits for it.
fn computes(later: Ns) -> Ns {
    let mut program = Program::new(LockKind::Join, WAITS, WAITS + later);
    program.is(MS, WAITS + later, WAITS + later - MS, "");
    program.gain()
}

#[test]
fn a_thread_that_computes_until_it_is_told_ends_earlier() {
    assert_eq!(computes(MS), 100);
    assert_eq!(computes(10 * MS), 0);
}

/// The second thread makes two calls in each round of 4 ms. It has done `before` rounds by the time that the main one waits for its end, and
/// is in another one, then it does `after` more. In its third last round, `meets` says, it meets a condition of the main thread.
fn rounds(before: Ns, after: Ns, meets: bool) -> Ns {
    const ROUND: Ns = 4 * MS;
    let begins = |round: Ns| WAITS - MS - (before - round) * ROUND;
    let ends = begins(before + after + 1) - MS;
    let mut program = Program::new(LockKind::Join, WAITS, ends);
    for round in 0..=before + after {
        for (name, at) in [("cudaSetDevice", 0), ("cudaGetDevice", 2 * MS)] {
            program.calls(program.other, name, begins(round) + at, 10);
        }
    }
    if meets {
        let end = begins(before - 2) + MS;
        let (thread, releaser) = (program.main, program.other);
        let wait =
            Wait { kind: LockKind::Condition, lock: 0x40, layer: LockLayer::Program, ..Wait::default() };
        program.trace.waits.push(Wait { start: end - MS / 2, end, thread, releaser, ..wait });
    }
    program.gain()
}

/// At most a round less than the main thread's time: it looks at the end of each.
#[test]
fn a_thread_that_does_the_same_until_it_is_told_does_fewer_rounds() {
    let gain = rounds(22, 0, false);
    assert!((88..=100).contains(&gain), "{gain}");
}

#[test]
fn a_thread_that_does_more_rounds_was_not_told() {
    assert_eq!(rounds(20, 2, false), 0);
}

#[test]
fn a_few_rounds_may_be_all_that_a_thread_does() {
    assert_eq!(rounds(15, 0, false), 0);
}

#[test]
fn a_thread_that_meets_others_in_its_rounds_does_what_they_need() {
    let gain = rounds(22, 0, true);
    assert!(gain <= 10, "{gain}");
}

/// How much earlier the program ends, ms, if the second thread begins at this moment and the main one waits for its end, 50 ms after the pause.
fn born(at: Ns) -> Ns {
    let mut program = Program::new(LockKind::Join, COMPUTES + 30_000, COMPUTES + 50 * MS);
    program.other_begins(at);
    program.gain()
}

#[test]
fn a_thread_begins_when_its_parent_comes_to_that_moment() {
    assert_eq!(born(COMPUTES + 20_000), 100);
    assert_eq!(born(COMPUTES / 2), 50);
}

/// Time that is gained before a range makes no thread faster in it.
#[test]
fn a_range_after_the_pause_takes_as_long_for_each_thread() {
    let mut program = Program::new(LockKind::Join, COMPUTES + 30_000, COMPUTES + 50 * MS);
    program.other_begins(COMPUTES + 20_000);
    let (start, end) = (COMPUTES + 16_000, COMPUTES + 50 * MS + 20_000);
    let range = program.trace.ranges.push(Range { start, end, thread: program.main, ..Range::default() });
    program.trace.join();
    let trace = &program.trace;
    let base = recover(trace).unwrap();
    let replayed = base.replay().unwrap();
    let fit = Fit::of(trace, &base, &replayed).within(&[range], trace, &base, &replayed);
    let predictor = Predictor::new(trace, &base, &fit, &|_| {}).unwrap().within(vec![range]);
    let faster: Faster = "host:train.py:7=1000000x".parse().unwrap();
    let predicted = predictor.predict(&[Change::Faster(&faster)]).unwrap().expect("a change");
    assert_eq!((predicted.gain.share, predicted.thread), (0.0, None));
}

#[test]
fn a_thread_that_began_before_does_not_begin_earlier() {
    assert_eq!(born(10_000), 0);
}
