//! Operations and the calls that issued them, at level full: a stand-in for CUPTI has a record of each operation.

use crate::run::{Program, Recorded};
use std::collections::HashMap;
use trace::{CallId, OpKind, Trace};

fn recorded(scenario: &str, environment: &[(&str, &str)]) -> Recorded {
    let program =
        Program::looking_up("issue", scenario).at_level("full").with("STANDIN_OPERATIONS", "1").gathered();
    let program = environment.iter().fold(program, |program, (name, value)| program.with(name, value));
    let recorded = program.both();
    assert_eq!(recorded.outcome.code, Some(0), "{:?}", recorded.outcome);
    assert_eq!(recorded.process().level, Some(spool::Level::Full));
    recorded
}

/// The launches of each thread, by its id.
fn launches(trace: &Trace) -> HashMap<i64, Vec<CallId>> {
    let calls = &trace.calls;
    let mut launches: HashMap<i64, Vec<CallId>> = HashMap::new();
    for call in calls.ids().filter(|call| trace.text(calls.name[call.index()]).starts_with("cuLaunchKernel"))
    {
        launches.entry(trace.threads.tid[calls.thread[call.index()].index()]).or_default().push(call);
    }
    launches.values_mut().for_each(|calls_of| calls_of.sort_by_key(|call| calls.start[call.index()]));
    launches
}

/// How many kernels are joined with the call that launched them, as their names say; the others have no call.
fn joined_kernels(trace: &Trace) -> usize {
    let launches = launches(trace);
    let mut joined = 0;
    for op in trace.ops.ids().map(|op| trace.ops.row(op)).filter(|op| op.kind == OpKind::Kernel) {
        let mut words =
            trace.text(op.name).split(' ').skip(1).map(|word| word.parse::<i64>().expect("a number"));
        let (thread, at) = (words.next().expect("a thread"), words.next().expect("a place") as usize);
        if op.call.is_some() {
            assert_eq!(op.call, launches[&thread][at], "{}", trace.text(op.name));
            joined += 1;
        }
    }
    joined
}

fn kernels(trace: &Trace) -> usize {
    trace.ops.kind.iter().filter(|kind| **kind == OpKind::Kernel).count()
}

#[test]
fn one_threads_operations_are_joined_with_their_calls() {
    let recorded = recorded("alone", &[]);
    let trace = recorded.trace.as_ref().expect("it was gathered");
    // Of six captures, the launches into the stream that captured became nodes of graphs.
    assert_eq!((kernels(trace), joined_kernels(trace)), (306, 306));
    assert!(trace.ops.call.iter().all(|call| call.is_some()));
    let name = |op: usize| trace.text(trace.calls.name[trace.ops.call[op].index()]);
    for at in 0..trace.ops.len() {
        let expected = match trace.ops.kind[at] {
            OpKind::Kernel => "cuLaunchKernel",
            OpKind::Graph => "cuGraphLaunch",
            OpKind::Memset => "cuMemsetD32Async",
            _ if trace.ops.copy[at] == trace::CopyKind::HtoD => "cuMemcpyHtoDAsync_v2",
            _ => "cuMemcpyDtoH_v2",
        };
        assert_eq!(name(at), expected);
    }
    assert_eq!(trace.ops.kind.iter().filter(|kind| **kind == OpKind::Graph).count(), 6);
    let lost = &trace.meta.lost;
    assert_eq!((lost.unmatched_ops, lost.unmatched_calls), (0, 0));
}

/// Launches after the program began to use CUPTI itself are not recorded, which is no loss; its waits before that are known.
#[test]
fn a_program_that_uses_cupti_itself_loses_no_kernel() {
    let program = Program::looking_up("issue", "profiled").at_level("full").with("STANDIN_OPERATIONS", "1");
    let recorded = program.gathered().both();
    assert_eq!(recorded.process().level, Some(spool::Level::Light));
    let trace = recorded.trace.as_ref().expect("it was gathered");
    assert_eq!((kernels(trace), joined_kernels(trace), trace.syncs.len()), (40, 40, 1));
    let lost = &trace.meta.lost;
    assert_eq!((lost.unmatched_calls, lost.reasons.get(trace::Lost::KERNELS)), (0, None));
    assert_eq!(launches(trace).into_values().map(|calls| calls.len()).collect::<Vec<_>>(), [70]);
}

#[test]
fn lost_records_move_no_join() {
    let recorded = recorded("alone", &[("STANDIN_DROP", "17")]);
    let trace = recorded.trace.as_ref().expect("it was gathered");
    assert!(kernels(trace) < 306);
    assert_eq!(joined_kernels(trace), kernels(trace));
}

#[test]
fn threads_with_a_stream_each_are_joined() {
    let recorded = recorded("apart", &[]);
    let trace = recorded.trace.as_ref().expect("it was gathered");
    assert_eq!((kernels(trace), joined_kernels(trace)), (1200, 1200));
}

#[test]
fn threads_that_share_a_stream_are_joined() {
    let recorded = recorded("together", &[]);
    let trace = recorded.trace.as_ref().expect("it was gathered");
    assert_eq!((kernels(trace), joined_kernels(trace)), (1200, 1200));
}

/// CUPTI tells ids from the first call on: when launches into one stream overlap, it is too late to begin.
#[test]
fn ids_are_told_from_the_start() {
    let recorded = recorded("overlapping", &[]);
    let launches = recorded.process().calls_of("cuLaunchKernel");
    let ids: Vec<u32> = launches.iter().map(|call| call.record.correlation).collect();
    assert_eq!(ids, (1..=12).collect::<Vec<u32>>());
    let trace = recorded.trace.as_ref().expect("it was gathered");
    assert_eq!((kernels(trace), joined_kernels(trace)), (12, 12));
}

/// Of each call that is joined, in the order in which they were made, which kernel of its thread it launched.
fn launched(trace: &Trace) -> Vec<usize> {
    let mut kernels = vec![None; trace.calls.len()];
    for op in trace.ops.ids().map(|op| trace.ops.row(op)).filter(|op| op.call.is_some()) {
        let number = trace.text(op.name).rsplit(' ').next().expect("a number");
        kernels[op.call.index()] = Some(number.parse().expect("a number"));
    }
    let mut calls: Vec<CallId> = trace.calls.ids().collect();
    calls.sort_by_key(|call| trace.calls.start[call.index()]);
    calls.into_iter().filter_map(|call| kernels[call.index()]).collect()
}

#[test]
fn operations_are_joined_with_their_calls_after_a_pause() {
    let recorded = recorded("switched", &[]);
    let trace = recorded.trace.as_ref().expect("it was gathered");
    // Phases of thirty; the second and the fourth are not recorded.
    let expected: Vec<usize> = (0..30).chain(60..90).chain(120..150).collect();
    assert_eq!(launched(trace), expected);
    assert_eq!((trace.meta.lost.unmatched_ops, trace.meta.recorded.len()), (0, 3));
    // Each stream was waited for in the phase in which it was launched into.
    for sync in trace.syncs.ids().map(|sync| trace.syncs.row(sync)) {
        let issued = |op: &usize| trace.ops.stream[*op] == sync.stream && trace.ops.start[*op] < sync.end;
        assert!(sync.stream.is_some() && (0..trace.ops.len()).any(|op| issued(&op)), "{sync:?}");
    }
}

/// Calls of which early ones are overwritten: those that are left have their own kernels.
#[test]
fn operations_are_joined_with_their_calls_where_early_ones_are_overwritten() {
    let recorded = recorded("much", &[(spool::VAR_KEEP, "last"), (spool::VAR_MAX_SIZE, "3600000")]);
    let trace = recorded.trace.as_ref().expect("it was gathered");
    assert!(recorded.process().overwritten > 0);
    // CUPTI's records of the last kernels come when the program ends here: they replace the first half of the calls.
    let kernels = launched(trace);
    assert!(kernels.len() > 1000 && trace.meta.lost.unmatched_calls == 0, "{}", kernels.len());
    assert_eq!(kernels, Vec::from_iter(20_000 - kernels.len()..20_000));
}
