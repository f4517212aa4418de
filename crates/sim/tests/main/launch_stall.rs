//! Seed 001 and section 1: B launches small kernels while A copies 256 MB to the host, one second. The measured program is
//! PyTorch's, whose own time between two launches the case has: without it a copy of 4.8 ms into pinned memory outlasts
//! what the stream's queue holds.

use crate::support::{Row, check, run};
use experiments::catalogue::launch_stall::{Beside, Case};
use experiments::{HostMemory, Place};
use workload::{Outcome, ThreadOutcome};

/// Rates of B's launches: a second's launches, and the percentage of its time in launches over 1 ms.
pub fn launches(outcome: &Outcome) -> (f64, f64) {
    let b: &ThreadOutcome = outcome.threads.last().unwrap();
    let launch = b.calls.iter().find(|call| call.name == "cuLaunchKernel").unwrap();
    let elapsed = b.elapsed_ns as f64;
    (launch.count as f64 / elapsed * 1e9, launch.stalled_ns as f64 / elapsed * 100.0)
}

#[test]
fn on_h200() {
    use Beside::{Copy, Idle, Item};
    use HostMemory::{Fresh, Pageable, Pinned};
    use Place::{OwnStream, SameStream};
    // The share of stalls in percent, from and to.
    let table = [
        (Idle, Fresh, SameStream, 0.0, 0.0),
        (Copy, Fresh, SameStream, 98.0, 106.0),
        (Copy, Pageable, SameStream, 100.0, 100.0),
        (Copy, Fresh, OwnStream, 0.0, 12.0),
        (Copy, Pageable, OwnStream, 0.0, 12.0),
        (Copy, Pinned, SameStream, 0.0, 0.0),
        (Item, Pageable, SameStream, 4.5, 4.5),
    ];
    let mut rows = Vec::new();
    let mut rates = Vec::new();
    for (beside, memory, place, low, high) in table {
        let case = Case { beside, memory, place, ..Case::default() };
        let (per_s, share) = launches(&run(&case.workload(), "h200"));
        println!("{beside:?} {memory:?} {place:?}: {per_s:.0} launches/s");
        // Ten points, as a part of a range that may be 0: counted from 100.
        let what = format!("{beside:?} {memory:?} {place:?}");
        rows.push(Row { what, measured: (100.0 + low, 100.0 + high), simulated: 100.0 + share, within: 0.1 });
        rates.push(per_s);
    }
    check(&rows);
    // 100,935; 3,399 to 5,207; 35 to 46; 83,367 to 111,969 twice; 75,951 to 84,679; 45,803 to 74,149 were measured.
    let [idle, fresh, reused, own_fresh, own_reused, pinned, item] = rates[..] else { unreachable!() };
    // As many launches as fit between two copies, which are 16 ms: six here, where who waits need not wake up first.
    assert!(reused < 10.0 * 1000.0 / 16.0 && reused > 20.0, "{reused}");
    assert!(fresh > 5.0 * reused && fresh < 0.1 * idle, "in between two copies: {fresh}");
    assert!(item < pinned && item > fresh, "{item} {pinned}");
    assert!(own_fresh > 0.8 * idle && own_reused > 0.8 * idle && pinned > 0.6 * idle);
}
