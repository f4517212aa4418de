//! The waits of operations add up, for any trace: those of a stream to the time from ready to start, and the time in which a GPU
//! was held back is a part of its busy time.

use explain::{Accounts, accounts};
use proptest::prelude::*;
use std::collections::BTreeMap;
use trace::{
    Api, Call, Context, CopyKind, Device, MemoryKind, Op, OpId, OpKind, Process, Selection, Stream, Sync,
    SyncKind, Thread, Trace,
};
use waits::{Index, OperationWait, Waits};

/// An operation of a stream: what it is, when its call began, how long that took, and how long it waited and ran.
#[derive(Clone, Debug)]
struct Random {
    kind: u8,
    stream: usize,
    blocks: u32,
    call: (i64, i64),
    wait: i64,
    ran: i64,
    event: bool,
}

fn random() -> impl Strategy<Value = Random> {
    let times = ((0..2_000_000i64, 0..60_000i64), 0..200_000i64, 0..300_000i64);
    (0..5u8, 0..6usize, 0..4000u32, times, any::<bool>()).prop_map(
        |(kind, stream, blocks, (call, wait, ran), event)| Random {
            kind,
            stream,
            blocks,
            call,
            wait,
            ran,
            event,
        },
    )
}

/// A trace of operations, each after the one before it in its stream: two processes, three streams each.
fn trace_of(rows: &[Random], compute: (u32, u32), copy_engines: u32) -> Trace {
    let mut trace = Trace::default();
    let (compute_major, compute_minor) = compute;
    let row = Device { compute_major, compute_minor, multiprocessors: 14, copy_engines, ..Device::default() };
    let device = trace.devices.push(row);
    let name = trace.strings.intern("cuLaunchKernel");
    let mut streams = Vec::new();
    let mut threads = Vec::new();
    for pid in 1..3 {
        let process = trace.processes.push(Process { pid, ..Process::default() });
        threads.push(trace.threads.push(Thread { process, tid: pid, ..Thread::default() }));
        let context = trace.contexts.push(Context { process, device, number: 1 });
        // The first one is the legacy default stream.
        streams.extend([7, 13, 14].map(|number| trace.streams.push(Stream { context, number })));
    }
    let mut done = [0; 6];
    for (correlation, row) in (1..).zip(rows) {
        let (start, end) = (row.call.0, row.call.0 + row.call.1);
        let thread = threads[row.stream / 3];
        let call = Call { start, end, thread, api: Api::Driver, name, correlation, ..Call::default() };
        let call = trace.calls.push(call);
        let stream = streams[row.stream];
        if row.event {
            let kind = SyncKind::StreamWaitEvent;
            trace.syncs.push(Sync { start, end, kind, stream, call, ..Sync::default() });
        }
        let start = done[row.stream].max(start) + row.wait;
        done[row.stream] = start + row.ran;
        let base = Op { start, end: start + row.ran, stream, call, correlation, ..Op::default() };
        let copy = |copy| Op { kind: OpKind::Copy, copy, dst: MemoryKind::Pinned, ..base };
        trace.ops.push(match row.kind {
            0 => copy(CopyKind::HtoD),
            1 => copy(CopyKind::DtoH),
            2 => Op { kind: OpKind::Memset, ..base },
            _ => {
                let sides = Op { grid_y: 1, grid_z: 1, block_x: 128, block_y: 1, block_z: 1, ..base };
                Op { kind: OpKind::Kernel, grid_x: row.blocks, ..sides }
            }
        });
    }
    trace
}

/// Checks the waits of each operation, and the sums of the accounts.
fn add_up(trace: &Trace) {
    let mut waits = BTreeMap::<OpId, Vec<OperationWait>>::new();
    let index = Index::of(trace);
    for wait in Waits::of(&index).parts() {
        assert!(wait.start < wait.end);
        waits.entry(wait.op).or_default().push(*wait);
    }
    let mut by_stream = BTreeMap::new();
    for (op, parts) in &waits {
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{parts:?}");
        let start = trace.ops.start[op.index()];
        assert_eq!(parts.last().map(|part| part.end), Some(start), "{parts:?}");
        *by_stream.entry(trace.ops.stream[op.index()]).or_insert(0) += start - parts[0].start;
    }
    let Accounts { gpus, streams, .. } = accounts(trace, &Selection::default());
    let used: Vec<_> = trace.streams.ids().filter(|stream| trace.ops.stream.contains(stream)).collect();
    assert_eq!(streams.len(), used.len());
    for (stream, account) in used.iter().zip(&streams) {
        assert_eq!(account.waiting_ns, by_stream.get(stream).copied().unwrap_or(0));
        assert_eq!(account.waiting.iter().map(|part| part.ns).sum::<i64>(), account.waiting_ns);
    }
    for gpu in gpus {
        let held: i64 = gpu.held_back.iter().map(|held| held.part.ns).sum();
        assert!(held <= gpu.busy_ns, "held back {held} of {}", gpu.busy_ns);
    }
}

/// A GPU's clock may give a kernel the same start and end: it takes the only place for no time.
#[test]
fn a_kernel_of_no_time_is_no_part_of_a_wait() {
    let kernel =
        |stream, call, wait, ran| Random { kind: 3, stream, blocks: 1, call, wait, ran, event: false };
    add_up(&trace_of(
        &[kernel(1, (90_000, 5_000), 5_000, 0), kernel(2, (0, 5_000), 200_000, 10_000)],
        (1, 3),
        0,
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn waits_of_operations_add_up(
        rows in proptest::collection::vec(random(), 1..40),
        compute in prop_oneof![Just((1, 3)), Just((2, 0)), Just((3, 5)), Just((9, 0)), Just((0, 0))],
        copy_engines in 0..3u32,
    ) {
        add_up(&trace_of(&rows, compute, copy_engines));
    }
}
