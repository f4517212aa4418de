//! Rules for any trace: it is replayed to its end, everything in it has a time, and with these times it is a trace again.

use crate::random;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use replay::{Change, FIXES, Fit, Predictor, Recovered, Removed, recover, retime};
use sim::Replayed;
use std::collections::HashMap;
use std::io::Cursor;
use trace::*;

/// Next action of a thread.
#[derive(Clone, Debug)]
struct Round {
    thread: usize,
    stream: usize,
    kind: usize,
    /// The time before it, its time, and the latency and the duration of its operation, ns.
    times: (Ns, Ns, Ns, Ns),
    /// The earlier call that it waits for, counted backwards, within a call or outside.
    behind: Option<usize>,
    waits: Option<usize>,
    /// Whether the call of its operation is recorded, and whether its operation may start before the last one has ended.
    known: bool,
    beside: bool,
    /// Whether the call is within the one before it.
    nested: bool,
}

fn round() -> impl Strategy<Value = Round> {
    let times = (0..300_000i64, 0..300_000i64, -20_000..200_000i64, 0..300_000i64);
    let others = (prop::option::of(1..6usize), prop::option::of(1..6usize));
    let flags = (prop::bool::weighted(0.9), any::<bool>(), prop::bool::weighted(0.1));
    (0..4usize, 0..6usize, 0..KINDS.len(), times, others, flags).prop_map(
        |(thread, stream, kind, times, (behind, waits), (known, beside, nested))| Round {
            thread,
            stream,
            kind,
            times,
            behind,
            waits,
            known,
            beside,
            nested,
        },
    )
}

/// Calls, and the kinds of their operations.
const KINDS: [(&str, &[(OpKind, CopyKind)]); 9] = [
    ("cudaLaunchKernel", &[(OpKind::Kernel, CopyKind::Unknown)]),
    ("cudaMemcpyAsync", &[(OpKind::Copy, CopyKind::DtoH)]),
    ("cudaMemcpy", &[(OpKind::Copy, CopyKind::HtoD)]),
    ("cudaMemsetAsync", &[(OpKind::Memset, CopyKind::Unknown)]),
    (
        "cudaGraphLaunch",
        &[
            (OpKind::Copy, CopyKind::HtoD),
            (OpKind::Kernel, CopyKind::Unknown),
            (OpKind::Kernel, CopyKind::Unknown),
        ],
    ),
    ("cudaStreamSynchronize", &[]),
    ("cudaDeviceSynchronize", &[]),
    ("cudaFree", &[]),
    ("cudaStreamWaitEvent", &[]),
];

/// Two processes with two threads each, three streams each, on one device or two.
fn trace_of(rounds: &[Round], devices: usize) -> Trace {
    let mut trace = Trace::default();
    let devices: Vec<DeviceId> = (0..devices as i64)
        .map(|ordinal| trace.devices.push(Device { ordinal, multiprocessors: 2, ..Device::default() }))
        .collect();
    let (mut threads, mut streams) = (Vec::new(), Vec::new());
    for number in 0..2 {
        let process = trace.processes.push(Process { pid: number, ..Process::default() });
        let device = devices[number as usize % devices.len()];
        let context = trace.contexts.push(Context { process, device, number: 1 });
        threads.extend([1, 2].map(|tid| trace.threads.push(Thread { process, tid, ..Thread::default() })));
        streams.extend([7, 13, 14].map(|number| trace.streams.push(Stream { context, number })));
    }
    let (mut now, mut last) = ([0; 4], [(0, 0); 4]);
    let mut free = [0; 6];
    for (at, round) in rounds.iter().enumerate() {
        let Round { thread: row, times: (pause, time, latency, runs), .. } = *round;
        let (thread, process) = (threads[row], row / 2);
        let (name, ops) = KINDS[round.kind];
        let (mut start, mut end) = (now[row] + pause, now[row] + pause + time);
        let before = |back: usize| {
            let call = trace.calls.len().checked_sub(back)?;
            let other = trace.calls.thread[call];
            (other != thread).then(|| (CallId::new(call), other))
        };
        if round.nested {
            let (first, end_of) = last[row];
            (start, end) = (first + (end_of - first) / 3, first + (end_of - first) / 2);
        } else {
            last[row] = (start, end);
            now[row] = end;
        }
        let (behind, waits) = (round.behind.and_then(before), round.waits.and_then(before));
        let correlation = at as i64 + 1;
        let (api, name) = (Api::Runtime, trace.strings.intern(name));
        let call = trace.calls.push(Call { start, end, thread, api, name, correlation, ..Call::default() });
        if let Some((holder_call, holder)) = behind {
            let (releaser, releaser_call, layer) = (holder, holder_call, LockLayer::Driver);
            let (end, handoff) = ((start + end) / 2, (end - start) / 4);
            let wait = Wait { start, end, thread, call, holder, holder_call, ..Wait::default() };
            trace.waits.push(Wait { releaser, releaser_call, layer, handoff, ..wait });
        }
        if let Some((_, releaser)) = waits.filter(|_| !round.nested) {
            let from = start - pause / 2;
            let (kind, layer) = (LockKind::Gil, LockLayer::Interpreter);
            let wait = Wait { start: from, end: start, thread, releaser, kind, layer, ..Wait::default() };
            trace.waits.push(Wait { handoff: pause / 4, ..wait });
        }
        let stream = streams[3 * process + round.stream % 3];
        let free = &mut free[3 * process + round.stream % 3];
        for (node, (kind, copy)) in ops.iter().enumerate() {
            let earliest = start + latency;
            let start = if round.beside { earliest } else { earliest.max(*free) };
            *free = (*free).max(start + runs);
            let correlation = if round.known { correlation } else { 0 };
            let graph_node = if ops.len() > 1 { node as i64 + 1 } else { 0 };
            let op = Op { start, end: start + runs, kind: *kind, copy: *copy, stream, ..Op::default() };
            trace.ops.push(Op { correlation, graph_node, grid_x: 64, block_x: 64, ..op });
        }
        if ops.is_empty() {
            let kind = if round.kind == 8 { SyncKind::StreamWaitEvent } else { SyncKind::Stream };
            let process = ProcessId::new(process);
            trace.syncs.push(Sync { start, end, kind, process, stream, correlation, ..Sync::default() });
        }
    }
    trace.join();
    trace
}

/// Replays a trace, and checks that everything has a time.
fn replays(trace: &Trace) -> Option<(Recovered, Replayed)> {
    if trace.ops.is_empty() {
        assert_eq!(recover(trace).err(), Some(replay::Error::NoOperations));
        return None;
    }
    let recovered = recover(trace).unwrap();
    let replayed = recovered.replay().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(recovered.works.len(), trace.ops.len());
    assert_eq!(replayed.works.len(), recovered.recorded.works.len());
    for (row, (steps, begins)) in replayed.steps.iter().zip(recovered.begins.iter()).enumerate() {
        assert_eq!(steps.len(), begins.len(), "thread {row}");
        assert!(steps.is_sorted() && begins.is_sorted(), "thread {row}");
    }
    for (work, (start, end)) in recovered.recorded.works.iter().zip(&replayed.works) {
        assert!(0 < *end || work.ns == 0, "an operation did not run");
        assert!(end - start >= work.ns, "an operation took less time than recorded");
    }
    let fit = Fit::of(trace, &recovered, &replayed);
    assert!(fit.error.is_finite() && fit.wall.replayed_ns <= replayed.end());
    Some((recovered, replayed))
}

/// The outermost calls of each thread do not overlap, and each call stays in its place among those of its thread.
fn calls_are_in_order(before: &Trace, after: &Trace) {
    let mut order: Vec<CallId> = before.calls.ids().collect();
    order.sort_by_key(|call| {
        let row = before.calls.row(*call);
        (row.start, std::cmp::Reverse(row.end), *call)
    });
    let mut last: HashMap<ThreadId, (Call, Call)> = HashMap::new();
    for call in order {
        let (old, new) = (before.calls.row(call), after.calls.row(call));
        assert!(new.start <= new.end);
        match last.get(&old.thread) {
            Some((around, its)) if old.start < around.end => {
                assert!(
                    its.start <= new.start && new.end <= its.end.max(new.start),
                    "a call left the one it is in"
                );
            }
            Some((_, its)) if new.start < its.end => panic!("calls overlap"),
            _ => _ = last.insert(old.thread, (old, new)),
        }
    }
}

/// The trace as a file gives it.
fn read_again(trace: &Trace) -> Trace {
    let mut bytes = Cursor::new(Vec::new());
    trace::write(trace, &mut bytes).unwrap();
    trace::read(bytes.into_inner()).unwrap_or_else(|error| panic!("{error}"))
}

fn check(trace: &Trace) {
    read_again(trace);
    let Some((recovered, replayed)) = replays(trace) else { return };
    let new = retime(trace, &recovered, &replayed);
    assert_eq!(read_again(&new).calls.len(), trace.calls.len());
    calls_are_in_order(trace, &new);
    // It is a trace as any other.
    replays(&new);
    changes(trace, &recovered, &replayed);
}

/// Any change may be made, and any finding removed.
fn changes(trace: &Trace, recovered: &Recovered, replayed: &Replayed) {
    let fit = Fit::of(trace, recovered, replayed);
    let predictor = Predictor::new(trace, recovered, &fit, &|_| {}).unwrap();
    for fix in FIXES {
        let changed = predictor.trace(&[Change::Fix(fix)]).unwrap();
        changed.iter().for_each(|changed| drop(read_again(changed)));
    }
    let (explanation, losses) = explain::explain_each(trace, &explain::Options::default());
    for finding in &explanation.findings {
        let removed = Removed::of(&finding.id, &explanation, &losses).unwrap();
        predictor.gain(&[Change::Removed(&removed)]).unwrap();
    }
}

/// Checks the traces of any programs.
fn every<P: std::fmt::Debug>(cases: u32, programs: impl Strategy<Value = P>, trace: impl Fn(&P) -> Trace) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&programs, |program| {
        check(&trace(&program));
        Ok(())
    });
    outcome.unwrap_or_else(|problem| panic!("{problem}"));
}

#[test]
fn made_up_traces_are_replayed_to_their_end() {
    let programs = (prop::collection::vec(round(), 1..60), 1..3usize);
    every(120, programs, |(rounds, devices)| trace_of(rounds, *devices));
}

#[test]
fn made_up_traces_with_steps_and_states_are_replayed_to_their_end() {
    every(40, random::program(), random::trace);
}
