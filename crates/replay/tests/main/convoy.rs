//! Threads that contend for the mutex of their context, or of their hardware queue.

use crate::support::{add_beside, add_process, fit, replayed};
use replay::{Both, Fit, Predictor, fixes, recover, retime};
use sim::{Queue, RecordedStep};
use trace::*;

/// Time of a launch before it acquires the mutex, with it, and after it, and until the thread's next one at most, ns.
const BEFORE: Ns = 3_000;
const HELD: Ns = 1_500;
const AFTER: Ns = 5_000;
const PAUSE: Ns = 2_000;

/// So many threads with a stream each, and the name of a launch.
fn threads_that_launch(threads: usize) -> (Trace, Vec<(ThreadId, StreamId)>, Sym) {
    let mut trace = Trace::default();
    let first = add_process(&mut trace, 1);
    let rest: Vec<_> = (1..threads).map(|_| add_beside(&mut trace, first.0, first.1)).collect();
    trace.devices.compute_major.fill(9);
    let name = trace.strings.intern("cuLaunchKernel");
    (trace, [vec![first], rest].concat(), name)
}

/// Threads that launch so many kernels each, into streams of their own. Chance decides which of those that wait acquires the mutex.
pub fn launches(threads: usize, count: usize) -> Trace {
    launches_that_hold(threads, count, |_| HELD)
}

/// The same, where launches hold the mutex for as long as is given by their number, ns.
fn launches_that_hold(threads: usize, count: usize, held: impl Fn(usize) -> Ns) -> Trace {
    let (mut trace, all, name) = threads_that_launch(threads);
    // When each thread comes for the mutex, and how many launches it has to make.
    let mut next: Vec<(Ns, usize)> = (0..threads).map(|at| (BEFORE + 100 * at as Ns, count)).collect();
    let (mut free, mut chance, mut last) = (0, 1_u32, (ThreadId::NONE, CallId::NONE));
    while let Some(earliest) = next.iter().filter(|(_, left)| *left > 0).map(|(at, _)| *at).min() {
        let now = free.max(earliest);
        let waiting: Vec<usize> = (0..threads).filter(|at| next[*at].1 > 0 && next[*at].0 <= now).collect();
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let row = waiting[(chance >> 16) as usize % waiting.len()];
        let ((thread, stream), (came, left)) = (all[row], next[row]);
        free = now + held(trace.calls.len());
        let (start, end, correlation) = (came - BEFORE, free + AFTER, trace.calls.len() as i64 + 1);
        let call = trace.calls.push(Call { start, end, thread, name, correlation, ..Call::default() });
        let (kind, start, end) = (OpKind::Kernel, free + 2_000, free + 3_000);
        trace.ops.push(Op { kind, start, end, stream, correlation, grid_x: 1, block_x: 32, ..Op::default() });
        if now > came {
            add_wait(&mut trace, (came, now), MUTEX, (thread, call), last);
        }
        let pause = Ns::from(chance >> 16) % PAUSE;
        (last, next[row]) = ((thread, call), (free + AFTER + pause + BEFORE, left - 1));
    }
    trace.join();
    trace
}

/// A thread's next launch, of those in one hardware queue.
#[derive(Clone, Copy)]
struct Next {
    came: Ns,
    left: usize,
}

/// Threads that launch so many kernels each, into streams of so many hardware queues. A launch acquires the mutex of its queue, and then that
/// of its context. Each fiftieth one of a thread loses its processor for `late` ns in between.
fn launches_into_queues(threads: usize, count: usize, queues: usize, late: Ns) -> Trace {
    let (mut trace, all, name) = threads_that_launch(threads);
    let mut next: Vec<Next> =
        (0..threads).map(|at| Next { came: BEFORE + 100 * at as Ns, left: count }).collect();
    // When each was released, by whom.
    let mut of_queue: Vec<Vec<(Ns, (ThreadId, CallId))>> = vec![Vec::new(); queues];
    let mut of_context = (0, (ThreadId::NONE, CallId::NONE));
    loop {
        // The first thread of each queue: when it has the queue's mutex, and when it asks for the context's.
        let first = |queue: usize| {
            let waiting = (queue..threads).step_by(queues).filter(|row| next[*row].left > 0);
            let row = waiting.min_by_key(|row| next[*row].came)?;
            let has = next[row].came.max(of_queue[queue].last().map_or(0, |(free, _)| *free));
            let is_late = (next[row].left + 13 * row).is_multiple_of(50);
            Some((has + if is_late { late } else { 0 }, has, row))
        };
        let Some((asks, has, row)) = (0..queues).filter_map(first).min() else { break };
        let (came, now) = (next[row].came, asks.max(of_context.0));
        let (number, free) = (trace.calls.len(), now + HELD);
        let ((thread, stream), correlation) = (all[row], number as i64 + 1);
        let (start, end) = (came - BEFORE, free + AFTER);
        let call = trace.calls.push(Call { start, end, thread, name, correlation, ..Call::default() });
        let (kind, start, end) = (OpKind::Kernel, free + 2_000, free + 3_000);
        trace.ops.push(Op { kind, start, end, stream, correlation, grid_x: 1, block_x: 32, ..Op::default() });
        let queue = row % queues;
        if has > came {
            let lock = (LockKind::Mutex, 0x100 + queue as i64);
            let holders = of_queue[queue].iter().rev().take_while(|(free, _)| *free > came);
            let holders: Vec<_> = holders.map(|(_, holder)| *holder).collect();
            add_wait(&mut trace, (came, has), lock, (thread, call), holders[0]);
            let at = trace.waits.len() - 1;
            (trace.waits.holder[at], trace.waits.holder_call[at]) = holders[holders.len() - 1];
        }
        if now > asks {
            add_wait(&mut trace, (asks, now), MUTEX, (thread, call), of_context.1);
        }
        of_queue[queue].push((free, (thread, call)));
        of_context = (free, (thread, call));
        let pause = (number as Ns * 7919) % PAUSE;
        next[row] = Next { came: free + AFTER + pause + BEFORE, left: next[row].left - 1 };
    }
    trace.join();
    trace
}

/// The mutex of the context.
const MUTEX: (LockKind, i64) = (LockKind::Mutex, 0x10);

/// Adds a call's wait for a lock of CUDA's that another thread's call holds and releases.
fn add_wait(
    trace: &mut Trace,
    (start, end): (Ns, Ns),
    (kind, lock): (LockKind, i64),
    (thread, call): (ThreadId, CallId),
    (holder, holder_call): (ThreadId, CallId),
) {
    let library = trace.strings.intern("libcuda.so.1");
    let (holders, releaser, releaser_call) = (1, holder, holder_call);
    let wait = Wait { start, end, kind, lock, library, thread, call, ..Wait::default() };
    trace.waits.push(Wait { holder, holder_call, holders, releaser, releaser_call, ..wait });
}

/// How many waits a replay finds anew.
fn waits(trace: &Trace) -> usize {
    replayed(trace).1.waits.len()
}

#[test]
fn a_convoy_is_as_fast_as_its_mutex_lets_it() {
    let trace = launches(16, 200);
    let fit = fit(&trace);
    // A thread that was unlucky is done last; without the mutex it would be 32 % too fast.
    assert!(fit.error < 0.04, "{fit:?}");
    // All but the first ones wait.
    assert!(waits(&trace) > 15 * 200, "{}", waits(&trace));
}

#[test]
fn launches_of_a_replay_wait_only_as_it_made_them() {
    let trace = launches(16, 200);
    let (recovered, replayed) = replayed(&trace);
    let again = retime(&trace, &recovered, &replayed);
    assert_eq!(again.waits.len(), replayed.waits.len());
    let mut waited = vec![0; again.calls.len()];
    let waits = &again.waits;
    (0..waits.len()).for_each(|at| waited[waits.call[at].index()] += waits.end[at] - waits.start[at]);
    let takes = |at: usize| again.calls.end[at] - again.calls.start[at];
    assert!(waited.iter().enumerate().all(|(at, waited)| *waited < takes(at)), "longer than the launch");
}

/// How long each launch holds the mutex in a replay, ns.
fn holds(trace: &Trace) -> Vec<Ns> {
    let recovered = recover(trace).unwrap();
    let hold = |step: &RecordedStep| match step {
        RecordedStep::Call(call) if call.locks.mutex => Some(call.held_ns),
        _ => None,
    };
    recovered.recorded.threads.iter().flatten().filter_map(hold).collect()
}

#[test]
fn each_launch_holds_the_mutex_as_long_as_it_did() {
    let [short, long] = [500, 2_500];
    let trace = launches_that_hold(16, 200, |number| if number % 4 < 2 { short } else { long });
    let holds = holds(&trace);
    let times = |ns: Ns| holds.iter().filter(|hold| **hold == ns).count();
    assert_eq!(holds.len(), 16 * 200);
    assert!(times(short).min(times(long)) > holds.len() * 45 / 100, "{} {}", times(short), times(long));
    let fit = fit(&trace);
    assert!(fit.error < 0.04, "{fit:?}");
}

#[test]
fn the_time_of_slow_launches_is_not_all_the_mutex_s() {
    let holds = holds(&launches_that_hold(16, 200, |_| 6_000));
    let (least, most) = (holds.iter().min().unwrap(), holds.iter().max().unwrap());
    // 135 % of what the model has for an H200.
    assert!(*least > 2_100 && *most < 2_200, "{least} to {most}");
}

#[test]
fn a_program_fits_whose_chosen_ranges_do_not() {
    let fit = fit(&launches(16, 200));
    let ranges = Some(Both { recorded_ns: 100, replayed_ns: 80 });
    let of_ranges = Fit { ranges, error: 0.2, fits: false, ..fit.clone() };
    assert!(of_ranges.only_ranges_differ() && !fit.only_ranges_differ());
    let wall = Both { replayed_ns: 2 * fit.wall.recorded_ns, ..fit.wall };
    assert!(!Fit { wall, ..of_ranges }.only_ranges_differ());
}

#[test]
fn processes_have_a_mutex_each() {
    let trace = launches(16, 200);
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let (gain, _) = predictor.gain(&fixes("process-per-thread,mps").unwrap()).unwrap().expect("a change");
    // 16 launches take as long as the device takes to start their kernels, 1.07 µs each, instead of 16 times 1.5 µs.
    assert!((gain.share - (1.0 - 1.07 / 1.5)).abs() < 0.01, "{gain:?}");
}

#[test]
fn threads_that_rarely_wait_are_no_convoy() {
    let trace = launches(7, 200);
    assert!(trace.waits.len() >= 100, "{}", trace.waits.len());
    assert_eq!(waits(&trace), 0, "what they wait is part of their calls");
    assert!(fit(&trace).error < 0.01);
}

#[test]
fn a_few_launches_do_not_show_how_long_the_mutex_is_held() {
    // 15 of 16 threads wait for each of six launches, a third of these for less than 20 µs.
    let trace = launches(16, 6);
    assert!(trace.waits.len() < 100, "{}", trace.waits.len());
    assert!(waits(&trace) < trace.waits.len() * 3 / 4, "{}", waits(&trace));
}

#[test]
fn a_launch_that_a_graph_replaces_waits_for_nobody() {
    // In each round the third of four launches waits for 30 µs behind a free of another thread.
    let (mut trace, rounds) = (Trace::default(), 40);
    let (thread, stream) = add_process(&mut trace, 1);
    let (holder, _) = add_beside(&mut trace, thread, stream);
    let [launch, free, sync] =
        ["cuLaunchKernel", "cuMemFreeHost", "cuStreamSynchronize"].map(|name| trace.strings.intern(name));
    for start in (0..rounds).map(|round| round * 100_000) {
        let (from, until) = (start + 15_000, start + 45_000);
        let held = Call { start: start + 5_000, end: until, thread: holder, name: free, ..Call::default() };
        let holder_call = trace.calls.push(held);
        for (at, end) in
            [(start, 4_000), (start + 5_000, 4_000), (start + 10_000, 39_000), (start + 50_000, 4_000)]
        {
            let (correlation, end) = (trace.calls.len() as i64 + 1, at + end);
            let call = Call { start: at, end, thread, name: launch, correlation, ..Call::default() };
            let call = trace.calls.push(call);
            let (kind, start) = (OpKind::Kernel, end + 1_000);
            let (end, grid_x, block_x) = (start + 1_000, 1, 32);
            trace.ops.push(Op { kind, start, end, stream, correlation, grid_x, block_x, ..Op::default() });
            if at == from - 5_000 {
                let waiter = (thread, call);
                add_wait(&mut trace, (from, until), (LockKind::RwLock, 0x10), waiter, (holder, holder_call));
            }
        }
        let (start, end) = (start + 55_000, start + 60_000);
        trace.calls.push(Call { start, end, thread, name: sync, ..Call::default() });
    }
    trace.join();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    assert!(fit.fits && waits(&trace) == rounds as usize, "{fit:?}");
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let changed = predictor.trace(&fixes("graph").unwrap()).unwrap().expect("a change");
    let left = changed.waits.len();
    assert_eq!(left, 2, "the first two rounds stay launches");
}

/// Launches that hold the mutex in a replay, if a call of another thread released all that was waited for.
fn with_mutex_behind(name: &str, op: Option<OpKind>) -> usize {
    let mut trace = launches(16, 200);
    let (thread, stream) = add_beside(&mut trace, ThreadId::new(0), StreamId::new(0));
    let name = trace.strings.intern(name);
    let (start, end, correlation) = (0, 2_000, 1_000_000);
    let call = trace.calls.push(Call { start, end, thread, name, correlation, ..Call::default() });
    if let Some(kind) = op {
        let (copy, dst) = (CopyKind::DtoH, MemoryKind::Pageable);
        trace.ops.push(Op { kind, copy, dst, start: 500, end: 1_500, stream, correlation, ..Op::default() });
    }
    trace.waits.releaser.fill(thread);
    trace.waits.releaser_call.fill(call);
    trace.join();
    holds(&trace).len()
}

/// A launch that waits for a pageable copy waits for all of it, not for one more launch.
#[test]
fn launches_that_wait_for_a_copy_are_no_convoy() {
    assert_eq!(with_mutex_behind("cuStreamSynchronize", None), 16 * 200);
    assert_eq!(with_mutex_behind("cuMemcpyDtoHAsync_v2", Some(OpKind::Copy)), 0);
    assert_eq!(with_mutex_behind("cuMemFree_v2", None), 0);
}

#[test]
fn launches_wait_for_one_that_lost_its_processor_with_the_mutex_of_their_queue() {
    let trace = launches_into_queues(16, 200, 4, 3_000_000);
    let fit = fit(&trace);
    // Without these waits it would be 66 % too fast.
    assert!(fit.error < 0.04, "{fit:?}");
    let recovered = recover(&trace).unwrap();
    let waits = &trace.waits;
    let for_queues = (0..waits.len()).filter(|at| waits.lock[*at] >= 0x100).map(|at| waits.call[at]);
    let known = for_queues.filter(|call| recovered.behind_queues.contains_key(call)).count();
    assert_eq!(known, waits.lock.iter().filter(|lock| **lock >= 0x100).count());
    assert!(known > 100, "{known}");
}

#[test]
fn streams_with_a_queue_each_and_processes_do_not_wait_for_the_queue_of_others() {
    let trace = launches_into_queues(16, 200, 4, 3_000_000);
    let (mut base, fit) = (recover(&trace).unwrap(), fit(&trace));
    let queue = |stream: u32| Some(Queue { number: stream % 4, in_order: false, count: 1 });
    base.recorded.queues = (0..16).map(queue).collect();
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    for change in ["more-connections", "process-per-thread,mps"] {
        let (gain, _) = predictor.gain(&fixes(change).unwrap()).unwrap().expect(change);
        // A thread waits for four launches of its own of 3 ms, and for those of three others.
        assert!((0.65..0.78).contains(&gain.share), "{change}: {gain:?}");
    }
}

#[test]
fn launches_that_wait_for_their_context_wait_for_no_queue() {
    assert!(recover(&launches(16, 200)).unwrap().behind_queues.is_empty());
}
