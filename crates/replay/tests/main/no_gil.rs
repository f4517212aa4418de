//! Python threads that do not wait for the interpreter's lock: neither the waits are left, nor what code takes longer after them.

use replay::{Fit, Predictor, recover};
use trace::*;

/// Time of a call, and of the thread between two calls, ns.
const CALL: Ns = 5_000;
const PAUSE: Ns = 100_000;
const WAIT: Ns = 50_000;

/// A thread that launches kernels with pauses between: so many without a wait for the GIL, and as many with one in the middle, of which the
/// code takes so much longer.
fn trace_of(without: usize, waits: usize, longer: Ns) -> Trace {
    let mut trace = Trace::default();
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let [thread, releaser] =
        [1, 2].map(|tid| trace.threads.push(Thread { process, tid, ..Thread::default() }));
    let device = trace.devices.push(Device { compute_major: 9, multiprocessors: 132, ..Device::default() });
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    let name = trace.strings.intern("cudaLaunchKernel");
    let mut now = 0;
    for number in 0..=(without + waits) {
        let (start, correlation) = (now, number as i64 + 1);
        let call = Call {
            start,
            end: start + CALL,
            thread,
            api: Api::Runtime,
            name,
            correlation,
            ..Call::default()
        };
        trace.calls.push(call);
        let op = Op {
            kind: OpKind::Kernel,
            start: start + CALL,
            end: start + CALL + 3_000,
            stream,
            correlation,
            ..Op::default()
        };
        trace.ops.push(op);
        now = start + CALL + PAUSE;
        // Those with a wait come first.
        if number < waits {
            let (start, end) = (now - PAUSE / 2, now - PAUSE / 2 + WAIT);
            let (kind, layer) = (LockKind::Gil, LockLayer::Interpreter);
            trace.waits.push(Wait { start, end, thread, releaser, kind, layer, ..Wait::default() });
            now += WAIT + longer;
        }
    }
    trace.join();
    trace
}

/// Time that is predicted to be saved, ns.
fn saved(trace: &Trace) -> Ns {
    saved_by(trace, "no-gil")
}

fn saved_by(trace: &Trace, fixes: &str) -> Ns {
    let base = recover(trace).unwrap();
    let replayed = base.replay().unwrap();
    let fit = Fit::of(trace, &base, &replayed);
    let predictor = Predictor::new(trace, &base, &fit, &|_| {}).unwrap();
    let after = predictor.trace(&replay::fixes(fixes).unwrap()).unwrap().unwrap();
    let end = |trace: &Trace| trace.ops.end.iter().copied().max().unwrap();
    end(trace) - end(&after)
}

#[test]
fn code_after_a_wait_takes_what_it_takes_without_one() {
    assert_eq!(saved(&trace_of(40, 40, 30_000)), 40 * (WAIT + 30_000));
}

/// `process-per-thread` removes the same waits.
#[test]
fn it_is_taken_off_once() {
    assert_eq!(saved_by(&trace_of(40, 40, 30_000), "no-gil,no-gil"), 40 * (WAIT + 30_000));
}

#[test]
fn code_that_takes_no_longer_stays() {
    assert_eq!(saved(&trace_of(40, 40, 0)), 40 * WAIT);
    // Pauses with a wait are shorter for other reasons.
    assert_eq!(saved(&trace_of(40, 40, -20_000)), 40 * WAIT);
}

#[test]
fn few_pauses_show_nothing() {
    assert_eq!(saved(&trace_of(40, 29, 30_000)), 29 * WAIT);
    assert_eq!(saved(&trace_of(29, 40, 30_000)), 40 * WAIT);
}

/// Pauses that take much longer do something else as well.
#[test]
fn cold_code_has_its_limit() {
    assert_eq!(saved(&trace_of(40, 40, 100_000)), 40 * (WAIT + 40_000));
}

/// In each round a thread acquires the GIL without a wait, and the other one waits for it.
const ROUND: Ns = 300_000;
const HELD: Ns = 100_000;
const WAITED: Ns = 45_000;

/// Two threads that launch into their own streams at the end of each round. The second one waits in the first half of the rounds, the first
/// one in the other half: without its waits the second thread is three rounds ahead then, and its sections begin with those of the first.
fn in_turns(rounds: usize) -> Trace {
    let mut trace = Trace::default();
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let threads = [1, 2].map(|tid| trace.threads.push(Thread { process, tid, ..Thread::default() }));
    let device = trace.devices.push(Device { compute_major: 9, multiprocessors: 132, ..Device::default() });
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let name = trace.strings.intern("cudaLaunchKernel");
    let streams = [7, 8].map(|number| trace.streams.push(Stream { context, number }));
    for round in 0..=rounds {
        let (holder, waiter) = if 2 * round <= rounds { (0, 1) } else { (1, 0) };
        let end = round as Ns * ROUND + HELD;
        if round > 0 {
            trace.waits.push(Wait {
                start: end - WAITED,
                end,
                thread: threads[waiter],
                holder: threads[holder],
                releaser: threads[holder],
                kind: LockKind::Gil,
                layer: LockLayer::Interpreter,
                ..Wait::default()
            });
        }
        for (at, thread) in threads.into_iter().enumerate() {
            let start = (round + 1) as Ns * ROUND - 10_000;
            let correlation = (2 * round + at) as i64 + 1;
            let end = start + CALL;
            trace.calls.push(Call {
                start,
                end,
                thread,
                api: Api::Runtime,
                name,
                correlation,
                ..Call::default()
            });
            let (start, end, stream) = (end, end + 3_000, streams[at]);
            trace.ops.push(Op { kind: OpKind::Kernel, start, end, stream, correlation, ..Op::default() });
        }
    }
    trace.join();
    trace
}

#[test]
fn threads_do_not_wait_either_where_they_did_not() {
    assert_eq!(saved(&in_turns(40)), 20 * WAITED);
}
