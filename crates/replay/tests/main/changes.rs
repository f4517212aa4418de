//! The traces that a program would leave with changes.

use replay::{Change, FIXES, Fit, Predictor, recover};
use std::path::Path;
use trace::{Ns, Trace};

/// From the first call or operation to the end of the last one.
fn takes(trace: &Trace) -> Ns {
    let starts = trace.calls.start.iter().chain(&trace.ops.start);
    let ends = trace.calls.end.iter().chain(&trace.ops.end);
    ends.max().unwrap() - starts.min().unwrap()
}

#[test]
fn the_trace_of_a_change_takes_as_long_as_is_predicted() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recorded-d2h-stall.holdup");
    let trace = import::open(&file, &mut |_| {}).unwrap();
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
