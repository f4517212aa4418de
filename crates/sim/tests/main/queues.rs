//! Streams that share a hardware queue, as measured on an H100 (16 processors): the time of chains of kernels of 1 ms, each chain in a
//! stream of its own, as a multiple of a kernel's.

use crate::support::{check, row, run};
use workload::{Kernel, Process, Repeat, StreamId, StreamKind, Workload};

/// A kernel of a millisecond.
const KERNEL: Kernel = Kernel::Delay { cycles: 1_980_000 };

/// How far the model may be from what was measured, as a part of it.
const WITHIN: f64 = 0.05;

fn time(connections: Option<u32>, fill: impl FnOnce(&mut Process)) -> f64 {
    let mut workload = Workload::new("chains");
    workload.connections = connections;
    fill(workload.process("main"));
    let outcome = run(&workload, "h200");
    outcome.threads.iter().map(|thread| thread.elapsed_ns).max().unwrap() as f64 / 1e6
}

fn streams(process: &mut Process, count: u32) -> Vec<StreamId> {
    let context = process.primary(0);
    (0..count).map(|at| process.stream(format!("s{at}"), context, StreamKind::NonBlocking)).collect()
}

/// One thread launches one chain after the other, or the first kernels of all, then the second ones.
fn of_one_thread(connections: Option<u32>, depth: usize, count: u32, breadth_first: bool) -> f64 {
    time(connections, |process| {
        let streams = streams(process, count);
        let context = process.primary(0);
        let thread = process.thread("launches", context);
        // No first use is timed.
        for stream in &streams {
            thread.before().launch(Kernel::Delay { cycles: 1 }, 1, 32, *stream);
        }
        thread.before().synchronize_context();
        let order: Vec<StreamId> = match breadth_first {
            true => (0..depth).flat_map(|_| streams.clone()).collect(),
            false => streams.iter().flat_map(|stream| vec![*stream; depth]).collect(),
        };
        for stream in order {
            thread.body().launch(KERNEL, 1, 32, stream);
        }
        thread.body().synchronize_context();
    })
}

#[test]
fn kernels_of_a_hardware_queue_start_in_order() {
    let cases = [
        (None, 1, 40, false, 1.13),
        (None, 2, 8, false, 2.04),
        (None, 2, 9, false, 2.98),
        (None, 2, 40, false, 6.02),
        (None, 3, 9, false, 4.96),
        (None, 3, 40, false, 10.98),
        (Some(1), 1, 40, false, 1.16),
        (Some(1), 2, 40, false, 40.74),
        (Some(1), 3, 40, false, 80.37),
        (Some(2), 2, 40, false, 20.81),
        (Some(16), 3, 40, false, 7.03),
        (Some(32), 2, 33, false, 3.01),
        (Some(1), 4, 12, true, 3.97),
        (Some(2), 4, 12, true, 4.03),
    ];
    let rows = cases.map(|(connections, depth, count, breadth_first, measured)| {
        let order = if breadth_first { "breadth" } else { "depth" };
        let what = format!("{connections:?}: {count} chains of {depth}, {order} first");
        row(what, measured, of_one_thread(connections, depth, count, breadth_first), WITHIN)
    });
    check(&rows);
}

/// Threads that each launch 40 kernels of 500 µs and wait for them, 16 times: as a multiple of what one thread takes.
#[test]
fn threads_that_share_a_hardware_queue_take_turns() {
    let of_threads = |connections: Option<u32>, count: u32| {
        time(connections, |process| {
            let context = process.primary(0);
            for (at, stream) in streams(process, count).into_iter().enumerate() {
                let thread = process.thread(format!("thread {at}"), context);
                for _ in 0..40 {
                    thread.body().launch(Kernel::Delay { cycles: 990_000 }, 1, 32, stream);
                }
                thread.body().synchronize(stream);
                thread.repeat = Repeat::Times(16);
            }
        })
    };
    let one = of_threads(None, 1);
    let cases = [
        (Some(1), 2, 1.94),
        (Some(1), 4, 3.85),
        (Some(1), 16, 15.28),
        (Some(2), 2, 1.0),
        (Some(2), 8, 3.84),
        (None, 8, 1.0),
        (None, 16, 1.97),
    ];
    let rows = cases.map(|(connections, count, measured)| {
        row(
            format!("{connections:?}: {count} threads"),
            measured,
            of_threads(connections, count) / one,
            WITHIN,
        )
    });
    check(&rows);
}
