//! The traces that a program would leave with changes.

use replay::{Change, FIXES, Fit, Predictor, recover};
use std::path::Path;
use trace::{Ns, OpKind, Trace};

/// From the first call or operation to the end of the last one.
fn takes(trace: &Trace) -> Ns {
    let starts = trace.calls.start.iter().chain(&trace.ops.start);
    let ends = trace.calls.end.iter().chain(&trace.ops.end);
    ends.max().unwrap() - starts.min().unwrap()
}

fn example() -> Trace {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recorded-d2h-stall.holdup");
    import::open(&file, &mut |_| {}).unwrap()
}

/// The time of each copy of so many bytes at least, ns.
fn copies(trace: &Trace, least: i64) -> Vec<Ns> {
    let ops = &trace.ops;
    let large = ops.ids().filter(|op| ops.kind[op.index()] == OpKind::Copy && ops.bytes[op.index()] >= least);
    large.map(|op| ops.end[op.index()] - ops.start[op.index()]).collect()
}

/// Pageable copies of 256 MiB to the host, into memory that was never touched, took 124 ms or more. Page-locked ones take 5 ms; in pieces
/// each waits until the thread has copied the one before, which takes it little longer than the driver: most of it are page faults.
#[test]
fn copies_are_drawn_as_long_as_a_change_makes_them() {
    let trace = example();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let middle = |trace: &Trace| {
        let mut copies = copies(trace, 1 << 28);
        copies.sort_unstable();
        copies[copies.len() / 2]
    };
    let after = |fix: &str| middle(&predictor.trace(&replay::fixes(fix).unwrap()).unwrap().unwrap());
    let (recorded, pinned, staged) = (middle(&trace), after("pinned-reused"), after("staged-copies"));
    assert!(pinned < recorded && recorded < staged, "{pinned} {recorded} {staged}");
    assert!(staged < recorded * 11 / 10, "{staged} {recorded}");
}

#[test]
fn the_trace_of_a_change_takes_as_long_as_is_predicted() {
    let trace = example();
    let base = recover(&trace).unwrap();
    let replayed = base.replay().unwrap();
    let fit = Fit::of(&trace, &base, &replayed);
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let unchanged = predictor.trace(&[]).unwrap().unwrap();
    let mut gains = 0;
    for fix in FIXES {
        let changes = [Change::Fix(fix)];
        let (predicted, after) = (predictor.predict(&changes).unwrap(), predictor.trace(&changes).unwrap());
        assert_eq!(predicted.is_some(), after.is_some(), "{}", fix.id);
        let (Some(predicted), Some(after)) = (predicted, after) else { continue };
        assert_eq!(takes(&after), predicted.predicted_ns, "{}", fix.id);
        assert_eq!(takes(&unchanged), predicted.before_ns, "{}", fix.id);
        gains += usize::from(takes(&after) < takes(&unchanged));
    }
    assert!(gains > 0, "no change gains anything");
}
