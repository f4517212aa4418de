//! Programs of the runtime's interface at level full: a call of the runtime and the driver's call within it are one row, and
//! short queries are counted.

use crate::compile::Binding;
use crate::run::{Program, Recorded};
use std::collections::BTreeMap;
use trace::{Api, TallyKind, Trace};

fn recorded(program: Program) -> Recorded {
    let recorded = program.at_level("full").with("STANDIN_OPERATIONS", "1").gathered().both();
    assert_eq!(recorded.outcome.code, Some(0), "{:?}", recorded.outcome);
    recorded
}

/// Calls by name, and how many of them failed.
fn calls(trace: &Trace) -> BTreeMap<&str, (usize, usize)> {
    let mut calls = BTreeMap::new();
    for call in trace.calls.ids().map(|call| trace.calls.row(call)) {
        let (count, failed) = calls.entry(trace.text(call.name)).or_default();
        *count += 1;
        *failed += usize::from(call.result != 0);
    }
    calls
}

/// Counted calls by name, all threads together.
fn counted(trace: &Trace) -> BTreeMap<&str, i64> {
    let mut counted = BTreeMap::new();
    for tally in trace
        .tallies
        .ids()
        .map(|tally| trace.tallies.row(tally))
        .filter(|tally| tally.kind == TallyKind::Call)
    {
        assert!(tally.time > 0, "{tally:?}");
        *counted.entry(trace.text(tally.name)).or_default() += tally.count;
    }
    counted
}

#[test]
fn a_program_of_the_runtime() {
    for program in [
        Program::linked(Binding::Lazy, "runtime", ""),
        Program::linked(Binding::Now, "runtime", ""),
        Program::looking_up("runtime", ""),
    ] {
        let recorded = recorded(program);
        let trace = recorded.trace.as_ref().expect("it was gathered");
        let calls = calls(trace);
        assert_eq!(calls["cudaLaunchKernel"], (600, 0));
        assert_eq!(calls["cudaMemcpyAsync"], (60 + 6, 6));
        assert_eq!((calls["cudaStreamCreate"], calls["cudaStreamSynchronize"]), ((2, 0), (2, 0)));
        assert!(!calls.contains_key("cuLaunchKernel") && !calls.contains_key("cuStreamCreate"), "{calls:?}");
        // A query that took long is a call.
        let listed = |name| {
            calls.get(name).map_or(0, |(count, failed)| {
                assert_eq!(*failed, 0, "{name} returns no result of its own");
                *count as i64
            })
        };
        let counted = counted(trace);
        for (name, count) in [("cudaGetDevice", 600), ("cudaGetLastError", 606), ("cudaGetErrorString", 8)] {
            let short = counted.get(name).copied().unwrap_or(0);
            assert_eq!(short + listed(name), count, "{name}");
            assert!(short > listed(name), "{name}");
        }
        // It is a part of cudaGetDevice.
        assert!(!counted.contains_key("cuCtxGetCurrent"), "{counted:?}");
        assert_eq!(trace.ops.len(), 600 + 60);
        for call in &trace.ops.call {
            assert_eq!(trace.calls.api[call.some().expect("joined").index()], Api::Runtime);
        }
    }
}

#[test]
fn at_level_light_the_driver_is_recorded_and_no_query() {
    let program = Program::looking_up("runtime", "").with(spool::VAR_LEVEL, "light").gathered();
    let recorded = program.both();
    let trace = recorded.trace.as_ref().expect("it was gathered");
    let calls = calls(trace);
    assert_eq!((calls["cuLaunchKernel"], calls.contains_key("cudaLaunchKernel")), ((600, 0), false));
    assert!(counted(trace).is_empty());
}
