//! The host: mapping, touching, unmapping and copying memory, and handing over a lock. The driver has no part in it, so the times are
//! those of threads.

use super::runs::{Runs, workload};
use crate::draft::{Draft, set};
use std::time::Duration;
use workload::{Memory, Outcome, Repeat, Workload};

/// Buffers that are touched.
const BUFFERS: u64 = 16;

/// Bytes of each.
const BYTES: u64 = 4 << 20;

/// Pages of each, of 4 KiB.
const PAGES: u64 = BYTES / 4096;

/// Rounds of mapping and unmapping, and of copying.
const ROUNDS: u64 = 200;
const COPIES: u64 = 10;

/// How often each of two threads holds a lock, and for how long: about as long as waits for Python's GIL take. A thread that slept longer
/// takes longer to wake (H100, 16 processors: 6 µs after 20, 50 and 100 µs, 13 after 200, 20 after 500, 27 after 2 ms).
const TURNS: u64 = 400;
const TURN: Duration = Duration::from_micros(100);

/// From the release of one thread to that of the next, ns: each has ended by then.
const APART: u64 = 100_000_000;

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    let ran = runs.run(&threads())?;
    read(&ran.outcome, runs.draft);
    let ran = runs.run(&turns())?;
    read_turns(&ran.outcome, runs.draft);
    Ok(())
}

/// Two threads that hold a lock by turns.
fn turns() -> Workload {
    let (workload, ()) = workload("turns", |process, context| {
        for name in ["one", "other"] {
            let thread = process.thread(name, context);
            thread.body().hold(TURN);
            thread.repeat = Repeat::Times(TURNS);
        }
    });
    workload
}

/// From the first turn to the end of the last one, the lock is handed over between any two of them.
fn read_turns(outcome: &Outcome, draft: &mut Draft) {
    let Some(elapsed_ns) = outcome.threads.iter().map(|thread| thread.elapsed_ns).max() else { return };
    let (turns, turn_ns) = (2 * TURNS, TURN.as_nanos() as u64);
    let handoff = elapsed_ns.saturating_sub(turns * turn_ns) / (turns - 1);
    let origin = format!("measured: two threads, each for {} µs at a time, {turns} turns", TURN.as_micros());
    set!(draft, host.handoff_ns = at_most(handoff), origin);
}

/// Four threads, one after the other: they map and unmap, touch, unmap what was touched, and copy.
fn threads() -> Workload {
    let (workload, ()) = workload("host memory", |process, context| {
        let fresh = process.buffer("fresh", context, Memory::Fresh, BYTES);
        let mut touched = |name: &str| -> Vec<_> {
            let name = |number| format!("{name} {number}");
            (0..BUFFERS)
                .map(|number| process.buffer(name(number), context, Memory::Pageable, BYTES))
                .collect()
        };
        let (mapped, unmapped) = (touched("mapped"), touched("unmapped"));
        let [from, to] = ["from", "to"].map(|name| process.buffer(name, context, Memory::Pageable, BYTES));
        let maps = process.thread("maps", context);
        maps.body().allocate(fresh).free(fresh);
        maps.repeat = Repeat::Times(ROUNDS);
        let touches = process.thread("touches", context);
        touches.delay_ns = APART;
        for buffer in mapped {
            touches.body().allocate(buffer);
            touches.after().free(buffer);
        }
        let unmaps = process.thread("unmaps", context);
        unmaps.delay_ns = 2 * APART;
        for buffer in unmapped {
            unmaps.before().allocate(buffer);
            unmaps.body().free(buffer);
        }
        let copies = process.thread("copies", context);
        copies.delay_ns = 3 * APART;
        copies.before().allocate(from).allocate(to).copy_blocking(from, to, BYTES);
        copies.body().copy_blocking(from, to, BYTES);
        copies.repeat = Repeat::Times(COPIES);
        copies.after().free(from).free(to);
    });
    workload
}

/// As a time in a model, ns.
fn at_most(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn read(outcome: &Outcome, draft: &mut Draft) {
    let [maps, touches, unmaps, copies] = outcome.threads.as_slice() else { return };
    let mean = |elapsed_ns: u64, times: u64| at_most(elapsed_ns / times.max(1));
    let map = mean(maps.elapsed_ns, 2 * ROUNDS);
    set!(draft, host.map_ns = map, format!("measured: the mean of {ROUNDS} mappings and as many unmappings"));
    let of_pages = |elapsed_ns: u64| (mean(elapsed_ns, BUFFERS) - map).max(0) / PAGES as i64;
    let origin = format!("measured: the mean of {BUFFERS} buffers of {PAGES} pages");
    set!(draft, host.touch_page_ns = of_pages(touches.elapsed_ns), origin.clone());
    set!(draft, host.unmap_page_ns = of_pages(unmaps.elapsed_ns), origin);
    if let Some(rate) = crate::statistics::mb_s(mean(copies.elapsed_ns, COPIES) as f64 / BYTES as f64) {
        set!(draft, host.mb_s = rate, format!("measured: the mean of {COPIES} copies of 4 MiB"));
    }
}
