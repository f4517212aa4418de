//! Section 2: who stalls whom?

use crate::launch_stall::launches;
use crate::support::{Row, check, run};
use lab::Place;
use lab::experiments::interference::{Case, Repeated};
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
