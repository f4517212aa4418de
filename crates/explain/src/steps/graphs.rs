//! Steps that no range marks and that launch graphs: each lasts from one graph to the next, where the GPU ran them.

use super::found::{FEWEST, Found, FoundStep, Outliers, StepSource, between};
use crate::facts::Facts;
use rustc_hash::FxHashMap;
use std::ops::Range;
use trace::{CallId, Ns, OpKind, ThreadId};

/// Finds the thread that launches most graphs, if they are most of the GPU's work and come at regular times.
pub(super) fn find(facts: &Facts<'_>, (from, to): (Ns, Ns)) -> Option<Found> {
    let trace = facts.trace;
    let is_launch: Vec<bool> = trace.strings.iter().map(|(_, name)| launches_graph(name)).collect();
    if !is_launch.contains(&true) {
        return None;
    }
    let launches = |call: &CallId| {
        let at = facts.start(*call);
        is_launch[trace.calls.name[call.index()].index()] && from <= at && at < to
    };
    let of = |thread: ThreadId| -> Vec<CallId> {
        facts.calls_by_thread()[thread.index()].iter().copied().filter(launches).collect()
    };
    let candidates = trace.threads.ids().map(|thread| (thread, of(thread)));
    let (thread, calls) =
        candidates.max_by_key(|(thread, calls)| (calls.len(), std::cmp::Reverse(*thread)))?;
    let between_launches = facts.start(*calls.first()?)..facts.start(*calls.last()?);
    let ran = of_graphs(facts, thread, &is_launch, &between_launches)?;
    // The host may be many graphs ahead.
    let begun: Vec<_> = calls.iter().filter_map(|call| Some((*ran.get(call)?, *call))).collect();
    let steps = between(thread, &begun);
    let lengths: Vec<Ns> = steps.iter().map(FoundStep::length).collect();
    let is_in_order = begun.is_sorted_by_key(|(start, _)| *start);
    if steps.len() < FEWEST || !is_in_order || !Outliers::of(&lengths).are_alike() {
        return None;
    }
    let name = trace.text(trace.calls.name[calls[0].index()]).to_owned();
    Some(Found::new(name, StepSource::GraphLaunches, thread, steps))
}

fn launches_graph(name: &str) -> bool {
    name.starts_with("cudaGraphLaunch") || name.starts_with("cuGraphLaunch")
}

/// GPU start of each graph of a thread, by the call that launched it; `None` unless graphs are at least half of the time of
/// its process's kernels meanwhile. Copies are what feeds them.
fn of_graphs(
    facts: &Facts<'_>,
    thread: ThreadId,
    is_launch: &[bool],
    meanwhile: &Range<Ns>,
) -> Option<FxHashMap<CallId, Ns>> {
    let trace = facts.trace;
    let process = trace.process_of_thread(thread);
    let (mut all, mut of_graphs): (i128, i128) = (0, 0);
    let mut began = FxHashMap::default();
    for at in 0..trace.ops.len() {
        if trace.process_of_stream(trace.ops.stream[at]) != process {
            continue;
        }
        let is_work = matches!(trace.ops.kind[at], OpKind::Kernel | OpKind::Graph);
        let is_counted = is_work && meanwhile.contains(&trace.ops.start[at]);
        let took = i128::from(trace.ops.end[at] - trace.ops.start[at]);
        all += if is_counted { took } else { 0 };
        let call = facts.outermost(trace.ops.call[at]).some();
        let of_graph = |call: &CallId| {
            is_launch[trace.calls.name[call.index()].index()] && facts.thread(*call) == thread
        };
        if let Some(call) = call.filter(of_graph) {
            of_graphs += if is_counted { took } else { 0 };
            let start = began.entry(call).or_insert(trace.ops.start[at]);
            *start = trace.ops.start[at].min(*start);
        }
    }
    (all > 0 && of_graphs * 2 >= all).then_some(began)
}
