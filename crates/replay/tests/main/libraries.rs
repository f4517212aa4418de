//! Calls of libraries above CUDA, as cuBLAS's in a trace of Nsight Systems: what they contain is a program's as before.

use std::path::Path;
use trace::{Api, Call, CallId, Trace};
use waits::CallOrder;

/// A trace with a library's call around each launch that no other call is around.
fn with_library(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    let name = trace.strings.intern("cublasSgemm");
    let launches = |call: &CallId| trace.text(trace.calls.name[call.index()]).contains("LaunchKernel");
    let order = CallOrder::new(&trace);
    let around: Vec<Call> = trace
        .calls
        .ids()
        .filter(|call| order.outermost(*call) == *call && launches(call))
        .map(|call| trace.calls.row(call))
        .map(|call| Call {
            thread: call.thread,
            api: Api::Library,
            name,
            start: call.start - 1,
            end: call.end + 1,
            ..Call::default()
        })
        .collect();
    assert!(around.len() > 10, "{} launches", around.len());
    around.into_iter().for_each(|call| _ = trace.calls.push(call));
    trace
}

#[test]
fn a_librarys_calls_change_no_prediction() {
    for file in ["recorded-d2h-stall.holdup", "recorded-norm-hidden-sync.holdup"] {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
        let plain = import::open(&example, &mut |_| {}).unwrap();
        let [plain, within] = [plain.clone(), with_library(&plain)].map(|trace| {
            let (explanation, losses) = explain::explain_each(&trace, &explain::Options::default());
            let gains = replay::gains(&trace, &explanation, &losses, &|_| {});
            let of = gains.of.iter().map(|(id, gain)| (*id, gain.share, gain.low, gain.high));
            (of.collect::<Vec<_>>(), format!("{:?}", gains.absent))
        });
        assert!(plain.0.iter().any(|(_, share, ..)| *share > 0.01), "{file}: something gains: {plain:?}");
        assert_eq!(plain, within, "{file}");
    }
}
