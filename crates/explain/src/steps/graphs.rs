//! Steps that no range marks and that launch graphs: each lasts from one launch to the next.

use super::{FEWEST, Found, Outliers, StepSource, between};
use crate::facts::Facts;
use trace::{CallId, Ns, ThreadId};

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
    let starts: Vec<Ns> = calls.iter().map(|call| facts.start(*call)).collect();
    let times = between(&starts);
    if times.len() < FEWEST || !Outliers::of(&times).are_alike() || !are_most_work(facts, thread, &is_launch)
    {
        return None;
    }
    let name = trace.text(trace.calls.name[calls[0].index()]).to_owned();
    Some(Found { name, source: StepSource::GraphLaunches, thread, times, names: Vec::new() })
}

fn launches_graph(name: &str) -> bool {
    name.starts_with("cudaGraphLaunch") || name.starts_with("cuGraphLaunch")
}

/// Whether graphs of a thread are at least half of the time of all operations of its process.
fn are_most_work(facts: &Facts<'_>, thread: ThreadId, is_launch: &[bool]) -> bool {
    let trace = facts.trace;
    let process = trace.process_of_thread(thread);
    let (mut all, mut of_graphs): (i128, i128) = (0, 0);
    for at in 0..trace.ops.len() {
        if trace.process_of_stream(trace.ops.stream[at]) != process {
            continue;
        }
        let took = i128::from(trace.ops.end[at] - trace.ops.start[at]);
        all += took;
        let call = facts.outermost(trace.ops.call[at]).some();
        if call.is_some_and(|call| {
            is_launch[trace.calls.name[call.index()].index()] && facts.thread(call) == thread
        }) {
            of_graphs += took;
        }
    }
    all > 0 && of_graphs * 2 >= all
}
