//! The trace must not depend on how many threads read a spool.

use crate::gather::read_bytes;
use proptest::prelude::*;
use spool::*;
use std::io::Cursor;

const FIRST: u32 = 100;
const NAMES: [&str; 7] = [
    "cuLaunchKernel",
    "cudaLaunchKernel_v7000",
    "cuMemcpyHtoDAsync_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cudaStreamSynchronize",
    "kernel",
];

/// Record that a thread writes: the thread, the kind of record, a number, and whether its chunk ends there.
type Step = (u32, u8, u32, bool);

/// A process's file of such records.
fn file(level: Level, steps: &[Step]) -> Vec<u8> {
    let mut build = Build::new(FIRST, level);
    let names = NAMES.map(|name| build.text(FIRST, name));
    for (at, &(thread, kind, number, ends)) in steps.iter().enumerate() {
        let (tid, start) = (FIRST + thread, 1_000 + at as i64 * 100);
        let (end, correlation) = (start + i64::from(number % 300), at as u32 + 1);
        let (device, context, stream) = (number % 2, number % 2 + 1, 7 + number % 3);
        let call = Call {
            start,
            end,
            flags: call::HAS_STREAM,
            stream: (number % 4).into(),
            fact: number % 5,
            ..Call::default()
        };
        match kind {
            0..5 => build.record(tid, Call::KIND, names[kind as usize], &[call.bytes()]),
            5 => build.outer(tid, OuterCall { function: names[5], back: number % 400, tail: 10 }),
            6 => {
                let flags = call::HAS_STREAM;
                build.brief(tid, BriefCall { function: names[0], gap: number, duration: 30, flags });
            }
            7 => {
                let kernel = Kernel { start, end, correlation, device, context, stream, ..Kernel::default() };
                build.record(tid, Kernel::KIND, names[6], &[kernel.bytes()]);
            }
            8 => {
                let copy = Copy { start, end, correlation, device, context, stream, ..Copy::default() };
                build.record(tid, Copy::KIND, 0, &[copy.bytes()]);
            }
            9 => {
                let graph =
                    Graph { start, end, correlation, device, context, stream, graph: number % 3, zero: 0 };
                build.record(tid, Graph::KIND, 0, &[graph.bytes()]);
            }
            10 => {
                // Its end is before its start.
                let fill = Fill { start, end: start - 1, correlation, ..Fill::default() };
                build.record(tid, Fill::KIND, 0, &[fill.bytes()]);
            }
            11 => {
                let known = StreamNumber { stream: stream.into(), at: start, context, tid: 0 };
                build.record(tid, StreamNumber::KIND, stream, &[known.bytes()]);
            }
            12 => {
                let runtime = number % 2;
                let call = ApiCall { start, end, correlation, tid, result: 0, runtime };
                build.record(tid, ApiCall::KIND, names[runtime as usize], &[call.bytes()]);
            }
            _ => {
                let wait = Wait { start, end, lock: 1, function: names[0], since: start, ..Wait::default() };
                build.record(tid, Wait::KIND, names[6], &[wait.bytes()]);
            }
        }
        if ends {
            build.end_chunk(tid);
        }
    }
    build.finish()
}

/// The `.holdup` file of a spool that so many threads read.
fn gathered(spool: &[u8], threads: usize) -> Vec<u8> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let mut file = Cursor::new(Vec::new());
        trace::write(&read_bytes(spool, &mut |_| {}), &mut file).expect("a file in memory");
        file.into_inner()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_number_of_threads_makes_the_same_trace(
        steps in prop::collection::vec((0..3u32, 0..14u8, 0..1_000u32, prop::bool::weighted(0.2)), 0..160),
        level in prop::sample::select(&[Level::Light, Level::Full, Level::Calls][..]),
        calls_by_cupti in any::<bool>(),
    ) {
        let steps: Vec<Step> = steps.into_iter().filter(|step| calls_by_cupti || step.1 != 12).collect();
        let spool = file(level, &steps);
        let alone = gathered(&spool, 1);
        for threads in [2, 5] {
            prop_assert!(alone == gathered(&spool, threads), "{} threads", threads);
        }
    }
}
