//! Waits of threads that call the driver for locks of the program and for each other.

use crate::compile::{Binding, built, standard};
use crate::run::{Program, Recorded};
use trace::{LockKind, LockLayer, StackId, ThreadId, Trace, Wait};

/// Runs a scenario in each way that programs are built.
fn every_build(scenario: &str, check: &dyn Fn(&Recorded, &Trace)) {
    every_build_of("meets", scenario, "nothing", check);
}

/// Like [`every_build`], but also with the program among those whose locks are watched as the driver's.
fn every_build_and_listed(scenario: &str, check: &dyn Fn(&Recorded, &Trace)) {
    every_build(scenario, check);
    every_build_of("meets", scenario, "meets", check);
}

fn every_build_of(program: &str, scenario: &str, listed: &str, check: &dyn Fn(&Recorded, &Trace)) {
    for binding in [Binding::Lazy, Binding::Now] {
        let program = Program::linked(binding, program, scenario).with(spool::VAR_LOCKS, listed);
        let recorded = program.gathered().both();
        assert_eq!(recorded.outcome.stdout, "done\n", "{scenario}: {:?}", recorded.outcome);
        check(&recorded, recorded.trace.as_ref().expect("it was gathered"));
    }
}

fn tid(trace: &Trace, thread: ThreadId) -> u64 {
    thread.some().map_or(0, |thread| trace.threads.tid[thread.index()] as u64)
}

/// The functions of a stack, innermost first.
fn functions(trace: &Trace, stack: StackId) -> Vec<String> {
    let stacks = std::iter::successors(stack.some(), |stack| trace.stacks.caller[stack.index()].some());
    let frames = stacks.map(|stack| trace.frames.row(trace.stacks.frame[stack.index()]));
    frames.map(|frame| trace.text(frame.function).to_owned()).collect()
}

/// The waits of the program's own locks that took at least 10 ms, of the main thread.
fn long(recorded: &Recorded, trace: &Trace) -> Vec<Wait> {
    let own = |wait: &Wait| wait.layer == LockLayer::Program && wait.end - wait.start > 10_000_000;
    let waits = trace.waits.ids().map(|wait| trace.waits.row(wait)).filter(own);
    waits.filter(|wait| tid(trace, wait.thread) == recorded.fact("waiter")).collect()
}

/// The only long wait of the main thread for what the program says.
fn only(recorded: &Recorded, trace: &Trace, kind: LockKind) -> Wait {
    let address = recorded.fact("address") as i64;
    let all = long(recorded, trace);
    let found: Vec<_> = all.iter().filter(|wait| wait.lock == address).collect();
    let [wait] = found.as_slice() else { panic!("{} of {}: {all:?}", found.len(), all.len()) };
    assert_eq!(wait.kind, kind);
    **wait
}

/// A wait that the thread `ender` ended, which says when.
fn ended_by(recorded: &Recorded, trace: &Trace, kind: LockKind) -> Wait {
    let wait = only(recorded, trace, kind);
    assert_eq!(tid(trace, wait.releaser), recorded.fact("ender"), "{wait:?}");
    assert!(wait.handoff > 0 && wait.handoff < wait.end - wait.start, "{wait:?}");
    wait
}

#[test]
fn a_lock_of_the_program_has_its_holder() {
    for (scenario, kind) in [("mutex", LockKind::Mutex), ("rwlock", LockKind::RwLock)] {
        every_build(scenario, &|recorded, trace| {
            let (wait, ender) = (only(recorded, trace, kind), recorded.fact("ender"));
            assert_eq!([wait.holder, wait.releaser].map(|thread| tid(trace, thread)), [ender; 2]);
            assert_eq!(trace.text(wait.library), "meets");
            assert!(functions(trace, wait.stack).iter().any(|function| function == scenario));
        });
    }
}

#[test]
fn who_waits_for_a_condition_learns_who_signalled() {
    every_build_and_listed("signalled", &|recorded, trace| {
        let wait = ended_by(recorded, trace, LockKind::Condition);
        assert!(functions(trace, wait.stack).iter().any(|function| function == "wait_for_flag"));
        let signalled = functions(trace, wait.releaser_stack);
        assert!(signalled.iter().any(|function| function == "raise_flag"), "{signalled:?}");
    });
    every_build_and_listed("broadcast", &|recorded, trace| {
        ended_by(recorded, trace, LockKind::Condition);
        let address = recorded.fact("address") as i64;
        let all = trace.waits.ids().map(|wait| trace.waits.row(wait));
        let woken: Vec<_> = all.filter(|wait| wait.lock == address).collect();
        let ended = woken.iter().filter(|wait| tid(trace, wait.releaser) == recorded.fact("ender")).count();
        assert_eq!((woken.len(), ended), (3, 3));
    });
}

#[test]
fn who_waits_for_a_semaphore_learns_who_posted() {
    every_build_and_listed("posted", &|recorded, trace| {
        let wait = ended_by(recorded, trace, LockKind::Semaphore);
        let posted = functions(trace, wait.releaser_stack);
        assert!(posted.iter().any(|function| function == "post_later"), "{posted:?}");
    });
}

#[test]
fn who_gives_up_learns_nothing() {
    every_build_and_listed("given-up", &|recorded, trace| {
        let all = long(recorded, trace);
        let kinds: Vec<_> = all.iter().map(|wait| wait.kind).collect();
        assert_eq!(kinds, [LockKind::Semaphore, LockKind::Condition]);
        assert!(all.iter().all(|wait| wait.releaser.is_none() && wait.handoff == 0));
    });
}

#[test]
fn who_waits_at_a_barrier_learns_who_came_last() {
    every_build_and_listed("met", &|recorded, trace| {
        let wait = ended_by(recorded, trace, LockKind::Barrier);
        let came = functions(trace, wait.releaser_stack);
        assert!(came.iter().any(|function| function == "arrive_later"), "{came:?}");
    });
}

#[test]
fn who_joins_a_thread_waits_for_it() {
    every_build_and_listed("ended", &|recorded, trace| {
        let wait = only(recorded, trace, LockKind::Join);
        assert_eq!(tid(trace, wait.releaser), recorded.fact("ender"));
    });
}

#[test]
fn threads_that_make_no_calls_have_no_waits() {
    every_build_and_listed("unconcerned", &|recorded, trace| {
        let unconcerned = recorded.fact("unconcerned");
        assert!(trace.waits.thread.iter().all(|thread| tid(trace, *thread) != unconcerned));
    });
}

/// Each of the main thread's waits is recorded or counted, or there was none: the semaphore had been posted before.
#[test]
fn short_waits_are_counted() {
    every_build("short", &|recorded, trace| {
        let waiter = recorded.fact("waiter");
        let address = recorded.fact("address") as i64;
        let recorded_ones = trace.waits.lock.iter().filter(|lock| **lock == address).count() as i64;
        let tallies = trace.tallies.ids().map(|tally| trace.tallies.row(tally));
        let own = tallies
            .filter(|tally| tid(trace, tally.thread) == waiter && trace.text(tally.name) == "semaphore");
        let (count, time) = own.fold((0, 0), |(count, time), tally| (count + tally.count, time + tally.time));
        assert!((1..=3000).contains(&(recorded_ones + count)), "{recorded_ones} and {count}");
        assert!(count == 0 || (1..count * 20_000).contains(&time), "{count} took {time} ns");
        let short = |wait: &Wait| wait.lock == address && wait.end - wait.start < 19_900;
        assert!(!trace.waits.ids().any(|wait| short(&trace.waits.row(wait))));
    });
}

#[test]
fn cancelled_waits_leave_nothing_behind() {
    every_build_and_listed("cancelled", &|recorded, trace| {
        ended_by(recorded, trace, LockKind::Condition);
    });
}

#[test]
fn a_handler_may_end_the_wait_that_it_interrupts() {
    every_build_and_listed("handled", &|_, _| ());
}

#[test]
fn a_condition_with_the_layout_of_a_gil_is_none() {
    every_build_of("like", "like-a-gil", "nothing", &|recorded, trace| {
        let address = recorded.fact("address") as i64;
        let waits: Vec<_> = trace.waits.ids().map(|wait| trace.waits.row(wait)).collect();
        assert!(waits.iter().all(|wait| wait.kind != LockKind::Gil), "{waits:?}");
        let own: Vec<_> = waits.iter().filter(|wait| wait.lock == address).collect();
        assert!(!own.is_empty() && own.iter().all(|wait| wait.kind == LockKind::Condition), "{own:?}");
        let last = own.iter().max_by_key(|wait| wait.end).expect("there is one");
        assert_eq!(tid(trace, last.releaser), recorded.fact("ender"), "{own:?}");
    });
}

#[test]
fn conditions_of_old_programs_stay_theirs() {
    every_build_and_listed("old-condition", &|_, _| ());
}

#[test]
fn threads_of_cpp_wait_for_each_other() {
    let Some(program) = standard() else { return println!("skipped: there is no C++ compiler") };
    let recorded = Program::new(program, built().folder(Binding::Now), &[]).gathered().both();
    assert_eq!(recorded.outcome.stdout, "done\n", "{:?}", recorded.outcome);
    let trace = recorded.trace.as_ref().expect("it was gathered");
    let long = long(&recorded, trace);
    for (kind, ender) in
        [(LockKind::Mutex, "mutex"), (LockKind::Condition, "condition"), (LockKind::Join, "join")]
    {
        let ender = recorded.fact(ender);
        let is_it = |wait: &&Wait| wait.kind == kind && tid(trace, wait.releaser) == ender;
        assert!(long.iter().any(|wait| is_it(&wait)), "{kind}: {long:?}");
    }
}
