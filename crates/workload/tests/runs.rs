//! Results of `check` agree with what happens: made-up workloads are run here, step by step, without the code of `check`.

use std::cell::Cell;
use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use workload::{
    BarrierId, BufferId, Call, GraphId, Memory, Repeat, Step, StreamId, StreamKind, Thread, Workload,
};

const BUFFERS: u32 = 2;

/// Calls on pageable buffers, on a graph, and in one stream.
fn call() -> impl Strategy<Value = Step> {
    let buffer = || (0..BUFFERS).prop_map(BufferId);
    prop_oneof![
        3 => buffer().prop_map(|buffer| Step::Call(Call::Allocate { buffer, stream: None })),
        2 => buffer().prop_map(|buffer| Step::Call(Call::Free { buffer, stream: None })),
        1 => buffer().prop_map(|buffer| Step::Call(Call::Register { buffer })),
        1 => buffer().prop_map(|buffer| Step::Call(Call::Unregister { buffer })),
        3 => buffer().prop_map(|buffer| {
            Step::Call(Call::Check { buffer, bytes: 4, value: 0.into() })
        }),
        1 => Just(Step::Call(Call::LaunchGraph { graph: GraphId(0), stream: StreamId(0) })),
        1 => buffer().prop_map(|buffer| Step::Capture {
            graph: GraphId(0),
            stream: StreamId(0),
            steps: vec![Step::Call(Call::Copy {
                from: buffer,
                // Always there, so that the capture depends on one buffer.
                to: BufferId(BUFFERS),
                offset: 0.into(),
                bytes: 4,
                stream: Some(StreamId(0)),
            })],
        }),
    ]
}

/// Mostly calls that need what another thread has made.
fn visit() -> impl Strategy<Value = Step> {
    let check = (0..BUFFERS).prop_map(|row| Call::Check { buffer: BufferId(row), bytes: 4, value: 0.into() });
    let launch = Just(Call::LaunchGraph { graph: GraphId(0), stream: StreamId(0) });
    prop_oneof![12 => check.prop_map(Step::Call), 3 => launch.prop_map(Step::Call), 1 => call()]
}

/// Calls, some of them in loops.
fn steps(call: impl Strategy<Value = Step> + 'static, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = call.prop_recursive(2, 6, 3, |step| {
        (1..3u64, vec(step, 1..4)).prop_map(|(times, steps)| Step::Loop { times, steps })
    });
    vec(step, 0..most)
}

/// A thread's parts, and how often it does its body; 0 is as long as others do theirs.
type Parts = (Vec<Step>, Vec<Step>, Vec<Step>, u64);

fn parts(
    call: impl Strategy<Value = Step> + Clone + 'static,
    least: u64,
    most: usize,
) -> impl Strategy<Value = Parts> {
    (steps(call.clone(), most), steps(call.clone(), most), steps(call, most), least..3u64)
}

/// A process of these threads.
fn workload(threads: &[Parts]) -> Workload {
    let mut workload = Workload::new("made up");
    let process = workload.process("main");
    let context = process.primary(0);
    process.stream("s", context, StreamKind::NonBlocking);
    process.graph("g");
    for row in 0..BUFFERS {
        process.buffer(format!("{row}"), context, Memory::Pageable, 4);
    }
    let target = process.buffer("target", context, Memory::Device, 4);
    for (row, (before, body, after, times)) in threads.iter().enumerate() {
        let thread = process.thread(format!("{row}"), context);
        if row == 0 {
            thread.before().allocate(target);
        }
        thread.before.extend_from_slice(before);
        thread.body.extend_from_slice(body);
        thread.after.extend_from_slice(after);
        thread.repeat = if *times == 0 { Repeat::WhileOthers } else { Repeat::Times(*times) };
        if *times != 1 && thread.body.is_empty() {
            thread.body().load_module();
        }
    }
    workload
}

/// Buffers and graph that exist while threads run.
#[derive(Default)]
struct Memories {
    allocated: BTreeSet<BufferId>,
    registered: BTreeSet<BufferId>,
    /// The buffers of the captured graph.
    graph: Option<Vec<BufferId>>,
}

impl Memories {
    /// Does a step that is no loop; `None` where that cannot be.
    fn step(&mut self, step: &Step) -> Option<()> {
        let happens = match step {
            Step::Call(Call::Allocate { buffer, .. }) => self.allocated.insert(*buffer),
            Step::Call(Call::Free { buffer, .. }) => {
                // The graph has an address that is invalid, even if the buffer is allocated again.
                self.graph.take_if(|buffers| buffers.contains(buffer));
                !self.registered.contains(buffer) && self.allocated.remove(buffer)
            }
            Step::Call(Call::Register { buffer }) => {
                self.allocated.contains(buffer) && self.registered.insert(*buffer)
            }
            Step::Call(Call::Unregister { buffer }) => self.registered.remove(buffer),
            Step::Call(Call::Check { buffer, .. }) => self.allocated.contains(buffer),
            Step::Call(Call::LaunchGraph { .. }) => {
                self.graph.as_ref()?.iter().all(|buffer| self.allocated.contains(buffer))
            }
            Step::Capture { steps, .. } => {
                let [Step::Call(Call::Copy { from, .. })] = steps.as_slice() else { panic!("{steps:?}") };
                self.graph = Some(vec![*from]);
                self.allocated.contains(from)
            }
            _ => true,
        };
        happens.then_some(())
    }
}

/// Steps one after the other, loops unrolled.
fn unrolled(steps: &[Step]) -> Vec<&Step> {
    steps
        .iter()
        .flat_map(|step| match step {
            Step::Loop { times, steps } => (0..*times).flat_map(|_| unrolled(steps)).collect(),
            step => vec![step],
        })
        .collect()
}

/// Steps of a thread in its bodies, with a body that is done as long as others are done `endless` times.
fn bodies(thread: &Thread, endless: u64) -> Vec<&Step> {
    let times = match thread.repeat {
        Repeat::Times(times) => times,
        Repeat::For(_) | Repeat::WhileOthers => endless,
    };
    (0..times).flat_map(|_| unrolled(&thread.body)).collect()
}

fn one_thread_works(workload: &Workload) -> bool {
    let thread = &workload.processes[0].threads[0];
    let mut memories = Memories::default();
    let mut steps = unrolled(&thread.before);
    steps.extend(bodies(thread, 1));
    steps.extend(unrolled(&thread.after));
    steps.iter().all(|step| memories.step(step).is_some())
}

/// Runs `test` on many inputs, the same each time; it says whether `check` accepted its workload. At least `least`
/// must be.
fn many<S: Strategy>(
    cases: u32,
    least: u32,
    strategy: S,
    test: impl Fn(S::Value) -> Result<bool, TestCaseError>,
) {
    let accepted = Cell::new(0);
    let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&strategy, |input| {
        accepted.set(accepted.get() + u32::from(test(input)?));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(accepted.get() >= least, "{} of {cases} workloads were accepted", accepted.get());
}

/// A graph that is captured twice is taken to need the buffers of both captures, so these runs have one capture at
/// most.
fn captures(steps: &[Step]) -> usize {
    let inside = |step: &Step| match step {
        Step::Capture { .. } => 1,
        Step::Loop { steps, .. } => captures(steps),
        Step::Call(_) => 0,
    };
    steps.iter().map(inside).sum()
}

#[test]
fn one_thread_is_accepted_exactly_if_it_works() {
    many(4000, 150, parts(call().boxed(), 1, 3), |parts| {
        if captures(&[parts.0.clone(), parts.1.clone(), parts.2.clone()].concat()) > 1 {
            return Ok(false);
        }
        let workload = workload(&[parts]);
        let checked = workload.check();
        prop_assert_eq!(checked.is_ok(), one_thread_works(&workload), "{:?}", checked);
        Ok(checked.is_ok())
    });
}

/// Runs threads in an order that `choices` decides; `None` where something cannot be.
fn threads_work(workload: &Workload, choices: &[u8]) -> Option<()> {
    let threads = &workload.processes[0].threads;
    let mut memories = Memories::default();
    let mut choices = choices.iter().copied().cycle();
    let mut together =
        |mut queues: Vec<std::collections::VecDeque<&Step>>, late: &[bool], bodies: &[usize]| {
            let lengths: Vec<usize> = queues.iter().map(|queue| queue.len()).collect();
            loop {
                // Whether threads have done their bodies; the late ones' `after` waits for that.
                let done: Vec<bool> =
                    (0..queues.len()).map(|at| lengths[at] - queues[at].len() >= bodies[at]).collect();
                let others_done = (0..queues.len()).all(|at| late[at] || done[at]);
                let ready: Vec<usize> = (0..queues.len())
                    .filter(|at| !queues[*at].is_empty() && (!late[*at] || !done[*at] || others_done))
                    .collect();
                if ready.is_empty() {
                    return Some(());
                }
                let chosen = ready[choices.next()? as usize % ready.len()];
                memories.step(queues[chosen].pop_front()?)?;
            }
        };
    let none = vec![false; threads.len()];
    let before = threads.iter().map(|thread| unrolled(&thread.before).into()).collect();
    together(before, &none, &vec![0; threads.len()])?;
    let late: Vec<bool> = threads.iter().map(|thread| thread.repeat == Repeat::WhileOthers).collect();
    let timed: Vec<Vec<&Step>> = threads.iter().map(|thread| bodies(thread, 2)).collect();
    let lengths: Vec<usize> = timed.iter().map(Vec::len).collect();
    let all = timed.into_iter().zip(threads).map(|(mut steps, thread)| {
        steps.extend(unrolled(&thread.after));
        steps.into()
    });
    together(all.collect(), &late, &lengths)
}

#[test]
fn threads_that_are_accepted_work_in_any_order() {
    let threads = (parts(call().boxed(), 0, 2), parts(visit().boxed(), 0, 2));
    let orders = vec(vec(any::<u8>(), 97), 8);
    many(20_000, 800, (threads, any::<bool>(), orders), |((mut first, mut second), ready, orders)| {
        if first.3 + second.3 == 0 {
            // Both would wait for the other to end.
            second.3 = 1;
        }
        if ready {
            let allocate = |row| Step::Call(Call::Allocate { buffer: BufferId(row), stream: None });
            first.0.splice(..0, (0..BUFFERS).map(allocate));
        }
        let workload = workload(&[first, second]);
        if workload.check().is_err() {
            return Ok(false);
        }
        for order in orders {
            prop_assert!(threads_work(&workload, &order).is_some(), "{:?}", workload);
        }
        Ok(true)
    });
}

const BARRIERS: u32 = 3;

/// The barriers that steps meet at.
fn met(steps: &[Step]) -> BTreeSet<BarrierId> {
    let steps = unrolled(steps);
    let barrier = |step: &&Step| match step {
        Step::Call(Call::Meet { barrier }) => Some(*barrier),
        _ => None,
    };
    steps.iter().filter_map(barrier).collect()
}

/// Whether no thread waits for ever: executes all threads until none can continue.
fn all_meet(workload: &Workload) -> bool {
    let threads = &workload.processes[0].threads;
    let parties = |barrier: &BarrierId| workload.barriers[*barrier].parties as usize;
    let meets = |steps: Vec<&Step>| -> Vec<BarrierId> {
        let barrier = |step: &Step| match step {
            Step::Call(Call::Meet { barrier }) => Some(*barrier),
            _ => None,
        };
        steps.into_iter().filter_map(barrier).collect()
    };
    let pass = |ways: Vec<Vec<BarrierId>>, bodies: Vec<usize>, late: Vec<bool>| -> bool {
        let mut at = vec![0; ways.len()];
        loop {
            let others_done = (0..ways.len()).all(|of| late[of] || at[of] >= bodies[of]);
            let waits = |of: usize| {
                let goes = !late[of] || others_done;
                if goes { ways[of].get(at[of]).copied() } else { None }
            };
            let full = (0..ways.len()).filter_map(waits).find(|barrier| {
                (0..ways.len()).filter(|of| waits(*of) == Some(*barrier)).count() == parties(barrier)
            });
            let Some(full) = full else { return (0..ways.len()).all(|of| at[of] == ways[of].len()) };
            let through: Vec<usize> = (0..ways.len()).filter(|of| waits(*of) == Some(full)).collect();
            through.into_iter().for_each(|of| at[of] += 1);
        }
    };
    let count = threads.len();
    let before = threads.iter().map(|thread| meets(unrolled(&thread.before))).collect();
    let timed: Vec<_> = threads.iter().map(|thread| meets(bodies(thread, 1))).collect();
    let lengths = timed.iter().map(Vec::len).collect();
    let all = timed.into_iter().zip(threads).map(|(mut way, thread)| {
        way.extend(meets(unrolled(&thread.after)));
        way
    });
    let late = threads.iter().map(|thread| thread.repeat == Repeat::WhileOthers).collect();
    pass(before, vec![0; count], vec![false; count]) && pass(all.collect(), lengths, late)
}

/// The same with more rounds of each loop: enough that some of them are skipped.
fn longer(steps: &[Step], factor: u64) -> Vec<Step> {
    let longer = |step: &Step| match step {
        Step::Loop { times, steps } => Step::Loop { times: times * factor, steps: longer(steps, factor) },
        other => other.clone(),
    };
    steps.iter().map(longer).collect()
}

#[test]
fn threads_are_accepted_exactly_if_none_waits_for_ever() {
    let meet = (0..BARRIERS).prop_map(|row| Step::Call(Call::Meet { barrier: BarrierId(row) })).boxed();
    let first = parts(meet.clone(), 1, 3);
    // What a second thread does resembles what the first does, or few would be accepted.
    let second = prop_oneof![Just(None), parts(meet.clone(), 1, 2).prop_map(Some)];
    let third = steps(meet, 2);
    let all = (first, second, third, any::<bool>(), 1..6u64);
    many(8000, 800, all, |(first, second, third, late, factor)| {
        let second = second.unwrap_or_else(|| first.clone());
        let [first, second] = [first, second].map(|(before, body, after, times)| {
            let [before, body, after] = [before, body, after].map(|steps| longer(&steps, factor));
            (before, body, after, times * factor)
        });
        let last = (vec![], vec![], third, if late { 0 } else { 1 });
        let mut workload = workload(&[first, second, last]);
        for row in 0..BARRIERS {
            let comes = |thread: &&Thread| {
                [&thread.before, &thread.body, &thread.after]
                    .iter()
                    .any(|part| met(part).contains(&BarrierId(row)))
            };
            let parties = workload.processes[0].threads.iter().filter(comes).count();
            workload.barrier(format!("{row}"), parties as u32);
        }
        if workload.barriers.iter().any(|barrier| barrier.parties == 0) {
            // A barrier without threads blocks none, and is refused nevertheless.
            prop_assert!(workload.check().is_err());
            return Ok(false);
        }
        let checked = workload.check();
        prop_assert_eq!(checked.is_ok(), all_meet(&workload), "{:?}", checked);
        Ok(checked.is_ok())
    });
}
