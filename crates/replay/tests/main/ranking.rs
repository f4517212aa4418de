//! The order of findings by what the program would gain without each.

use crate::support::add_process;
use explain::{Cause, Explanation, Loss, Options, explain_each};
use replay::{Fit, Predictor, rank, recover};
use std::path::Path;
use trace::*;

/// The causes of the findings that parts of the accounts and losses name, in the order of these.
fn named(explanation: &Explanation, losses: &[Loss]) -> Vec<Option<Cause>> {
    let cause = |id: &Option<String>| {
        let finding = explanation.findings.iter().find(|finding| Some(&finding.id) == id.as_ref());
        assert_eq!(finding.is_some(), id.is_some(), "{id:?}");
        finding.map(|finding| finding.cause)
    };
    let accounts = &explanation.accounts;
    let gpus = accounts.gpus.iter().flat_map(|gpu| {
        let held_back = gpu.held_back.iter().map(|held| &held.part.finding);
        gpu.idle.iter().map(|part| &part.finding).chain(held_back)
    });
    let threads = accounts.threads.iter().flat_map(|thread| &thread.parts).map(|part| &part.finding);
    let streams = accounts.streams.iter().flat_map(|stream| &stream.waiting).map(|part| &part.finding);
    let steps = explanation.steps.iter().flat_map(|steps| {
        let slow = steps.slow.iter().flat_map(|slow| &slow.more);
        steps.median.idle.iter().chain(&steps.total.idle).chain(slow).map(|part| &part.finding)
    });
    let of_losses = losses.iter().map(|loss| loss.finding.map(|at| explanation.findings[at as usize].cause));
    gpus.chain(threads).chain(streams).chain(steps).map(cause).chain(of_losses).collect()
}

#[test]
fn all_that_names_a_finding_follows_it() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut moved = 0;
    for file in std::fs::read_dir(&examples).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(trace) = import::open(&file, &mut |_| {}) else { continue };
        let (mut explanation, mut losses) = explain_each(&trace, &Options::default());
        let before = named(&explanation, &losses);
        let causes = |explanation: &Explanation| -> Vec<Cause> {
            explanation.findings.iter().map(|finding| finding.cause).collect()
        };
        let order = causes(&explanation);
        rank(&trace, &mut explanation, &mut losses);
        assert_eq!(named(&explanation, &losses), before, "{file:?}");
        let ids: Vec<String> = (1..=order.len()).map(|number| format!("H{number}")).collect();
        assert!(explanation.findings.iter().map(|finding| &finding.id).eq(&ids), "{file:?}");
        moved += usize::from(causes(&explanation) != order);
    }
    assert!(moved >= 1, "{moved}");
}

/// A thread launches a kernel of 4 ms and reads two results of it, one after the other, then computes for so long, or sleeps in this system
/// call; once for each time given. Only the first copy waits.
fn reads(times: impl IntoIterator<Item = Ns>, call: &str) -> Trace {
    let mut trace = Trace::default();
    let (thread, stream) = add_process(&mut trace, 1);
    let [launch, copy, call] =
        ["cudaLaunchKernel", "cudaMemcpyAsync", call].map(|name| trace.strings.intern(name));
    let mut start = 0;
    for computes in times {
        let mut issue = |name, (begin, end), (starts, ends), op: Op| {
            let correlation = trace.calls.len() as i64 + 1;
            let (begin, end) = (start + begin, start + end);
            trace.calls.push(Call { start: begin, end, thread, name, correlation, ..Call::default() });
            trace.ops.push(Op { start: start + starts, end: start + ends, stream, correlation, ..op });
        };
        let kernel = Op { kind: OpKind::Kernel, grid_x: 64, block_x: 64, ..Op::default() };
        issue(launch, (0, 5_000), (7_000, 4_007_000), kernel);
        let dst = MemoryKind::Pageable;
        let result = || Op { kind: OpKind::Copy, copy: CopyKind::DtoH, dst, bytes: 4, ..Op::default() };
        issue(copy, (6_000, 4_012_000), (4_008_000, 4_010_000), result());
        issue(copy, (4_020_000, 4_028_000), (4_022_000, 4_024_000), result());
        let (done, next) = (start + 4_029_000, start + 4_030_000 + computes);
        let runs = State { thread, start, end: done, running: done - start, ..State::default() };
        trace.states.push(runs);
        let (running, state) =
            if call.is_empty() { (next - done, ThreadState::Running) } else { (0, ThreadState::Blocked) };
        trace.states.push(State { start: done, end: next, running, state, call, ..runs });
        start = next;
    }
    trace.join();
    trace
}

/// Worth of the first copy's finding, in twenty rounds.
fn worth(computes: Ns, call: &str) -> f64 {
    let trace = reads([computes; 20], call);
    let (mut explanation, mut losses) = explain_each(&trace, &Options::default());
    rank(&trace, &mut explanation, &mut losses);
    let hidden = explanation.findings.iter().find(|finding| finding.cause == Cause::HiddenSync);
    hidden.unwrap().worth()
}

/// Without the first wait alone the second copy would wait instead.
#[test]
fn a_wait_that_empties_the_queue_is_worth_the_work_that_it_exposes() {
    let wait = worth(1_500_000, "");
    assert!((0.2..0.35).contains(&wait), "{wait}");
}

#[test]
fn a_wait_of_a_thread_that_has_little_else_to_do_is_worth_little() {
    let wait = worth(10_000, "");
    assert!(wait < 0.03, "{wait}");
}

#[test]
fn a_wait_for_what_is_written_to_a_file_is_worth_its_cost_alone() {
    let wait = worth(1_500_000, "fsync");
    assert!(wait < 0.03, "{wait}");
}

/// The sleep costs what it does with the wait and without.
#[test]
fn a_wait_is_not_worth_what_is_mended_by_itself() {
    let wait = worth(1_500_000, "clock_nanosleep");
    assert!(wait < 0.03, "{wait}");
}

/// Rounds that compute, then as many that do not: what a change gains before a window is no gain in it, of a thread's either.
#[test]
fn the_gain_in_a_window_has_nothing_of_what_comes_before() {
    let trace = reads([1_500_000; 20].into_iter().chain([0; 20]), "");
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let changes = replay::fixes("device-scalar").unwrap();
    let gain = |window| {
        let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
        let predictor = if let Some(window) = window { predictor.in_window(window) } else { predictor };
        predictor.gain(&changes).unwrap().expect("a change")
    };
    let start = 20 * 5_530_000;
    let (all, (steady, thread)) = (gain(None).0.share, gain(Some((start, Ns::MAX))));
    assert!(all > 0.1 && steady.share < 0.03, "{all} {}", steady.share);
    assert!(thread.is_none(), "{thread:?}");
}
