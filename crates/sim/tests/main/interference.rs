//! Section 2: which call delays which?

use crate::launch_stall::launches;
use crate::support::{Row, check, run};
use experiments::Place;
use experiments::catalogue::interference::{Case, Effect, Repeated};
use std::time::Duration;
use workload::{Memory, Repeat};

/// The share of B's time in launches over 1 ms, percent, as a row that may be ten points off.
fn share(repeated: Repeated, place: Place, measured: f64) -> Row {
    let case = Case { repeated, place, time: Duration::from_secs(1), ..Case::default() };
    let model = if place == Place::OtherGpu { "h200x8" } else { "h200" };
    let (per_s, share) = launches(&run(&case.workload(), model));
    let what = format!("{repeated:?} {place:?} {per_s:.0}/s");
    Row { what, measured: (100.0 + measured, 100.0 + measured), simulated: 100.0 + share, within: 0.1 }
}

#[test]
fn launches_beside_other_calls() {
    use Repeated::*;
    let free = [
        Idle,
        CopyInPinned,
        CopyInPageable,
        CopyOutPinned,
        CopyOutPageable,
        CopyOutFresh,
        AllocatePool,
        SynchronizeStream,
        SynchronizeContext,
        Allocate,
    ];
    let mut rows: Vec<Row> =
        free.into_iter().map(|repeated| share(repeated, Place::OwnStream, 0.0)).collect();
    rows.push(share(AllocateBusy, Place::OwnStream, 99.0));
    rows.push(share(AllocatePinned, Place::OwnStream, 101.0));
    rows.push(registered(71.0));
    for repeated in [Allocate, AllocateBusy, AllocatePinned, Register, CopyOutPageable] {
        rows.push(share(repeated, Place::OtherGpu, 0.0));
    }
    check(&rows);
}

/// 256 MiB registered, copied from and unregistered by A, as measured; the lab's case does not copy.
fn registered(measured: f64) -> Row {
    const BYTES: u64 = 256 << 20;
    let case =
        Case { repeated: Repeated::Register, bytes: BYTES, time: Duration::from_secs(1), ..Case::default() };
    let mut workload = case.workload();
    let process = &mut workload.processes[0];
    let context = process.primary(0);
    let host = process.buffer("registered", context, Memory::Pageable, BYTES);
    let device = process.buffer("target", context, Memory::Device, BYTES);
    let a = &mut process.threads[0];
    let stream = workload::StreamId(0);
    a.repeat = Repeat::WhileOthers;
    a.before().allocate(host).allocate(device);
    a.body = Vec::new();
    a.body().register(host).copy(host, device, BYTES, stream).synchronize(stream).unregister(host);
    let (per_s, share) = launches(&run(&workload, "h200"));
    let what = format!("register, copy, unregister {per_s:.0}/s");
    Row { what, measured: (100.0 + measured, 100.0 + measured), simulated: 100.0 + share, within: 0.1 }
}

/// How many times as long B takes as beside an idle thread.
fn slowdown(repeated: Repeated, effect: Effect, place: Place) -> f64 {
    let per_s = |repeated| {
        let case = Case { repeated, effect, place, ..Case::default() };
        let outcome = run(&case.workload(), "h200");
        let b = outcome.threads.last().unwrap();
        b.rounds as f64 / b.elapsed_ns as f64
    };
    per_s(Repeated::Idle) / per_s(repeated)
}

/// Cells of the matrix as one H200 had them. Each is a ratio of rates that themselves differ from run to run: it counts as
/// reproduced within a factor of three.
#[test]
fn slowdowns_are_reproduced() {
    use {Effect::*, Place::*, Repeated::*};
    const FACTOR: f64 = 3.0;
    let table = [
        (Allocate, Launches, OwnStream, 40.0),
        (AllocateBusy, Launches, SameStream, 931.0),
        (AllocateBusy, Launches, OwnStream, 1578.0),
        (AllocatePinned, Launches, OwnStream, 6187.0),
        (CopyInPageable, Launches, OwnStream, 1.1),
        (CopyOutPageable, Launches, OwnStream, 1.4),
        (CopyOutFresh, Launches, SameStream, 24.0),
        (CopyOutPinned, Copies, SameStream, 132.0),
        (CopyOutFresh, Copies, SameStream, 29.0),
        (CopyInPinned, Copies, OwnStream, 125.0),
        (CopyInPageable, Copies, OwnStream, 1.3),
        (CopyOutPageable, Copies, OwnStream, 2.8),
        (SynchronizeContext, Copies, SameStream, 12.0),
        (Launch, Allocations, OwnStream, 9.0),
        (AllocatePool, Allocations, OwnStream, 1.0),
        (AllocatePinned, Allocations, OwnStream, 4568.0),
        (CopyInPinned, Allocations, OwnStream, 240.0),
        (CopyInPageable, Allocations, OwnStream, 3644.0),
        (CopyOutPinned, Allocations, OwnStream, 247.0),
        (CopyOutFresh, Allocations, OwnStream, 31.0),
        (CopyDevice, Allocations, OwnStream, 11.0),
        (SynchronizeContext, Allocations, OwnStream, 41.0),
    ];
    let row = |(repeated, effect, place, measured): (Repeated, Effect, Place, f64)| Row {
        what: format!("{repeated:?} {effect:?} {place:?}"),
        measured: (measured / FACTOR, measured * FACTOR),
        simulated: slowdown(repeated, effect, place),
        within: 0.0,
    };
    check(&table.map(row));
}

/// The machine wakes the waiting thread too late, so that it makes almost no launches and copies (3,270 to 5,496 times as
/// long); here each waits for one copy of A.
#[test]
fn a_pageable_copy_delays_its_stream() {
    for repeated in [Repeated::CopyInPageable, Repeated::CopyOutPageable] {
        for effect in [Effect::Launches, Effect::Copies] {
            let times = slowdown(repeated, effect, Place::SameStream);
            assert!(times > 100.0, "{repeated:?} {effect:?}: {times}");
        }
    }
}

/// A thread that waits for a lock acquires it here at the release. The machine wakes the thread too late if the lock is acquired
/// again at once, as by repeated module loads (892 times as long) and stream creations (57 times).
#[test]
fn waking_too_late_for_a_lock_is_not_reproduced() {
    let beside = |repeated| slowdown(repeated, Effect::Allocations, Place::OwnStream);
    let (modules, streams) = (beside(Repeated::LoadModule), beside(Repeated::CreateStream));
    println!("modules: measured 892, simulated {modules:.1}; streams: measured 57, simulated {streams:.1}");
    assert!(
        (1.5..892.0 / 5.0).contains(&modules) && (1.5..57.0 / 5.0).contains(&streams),
        "{modules} {streams}"
    );
}
