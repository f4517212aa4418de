//! A hardware queue for each stream.

use super::scene::At;
use super::{Fix, Scene};
use crate::Recovered;
use crate::recover::costs::take;
use sim::Queue;
use std::collections::BTreeSet;
use trace::{CallId, Ns, ProcessId};

pub(super) const FIX: Fix = Fix {
    id: "more-connections",
    text: "set CUDA_DEVICE_MAX_CONNECTIONS to the number of streams, at most 32",
    safety: "safe; each one more takes 15 ms when the program starts, and 8 when it ends (H100)",
    apply,
};

/// A call that creates a context takes at least this long, ns: 60 ms with two queues (H100). One for a context that exists takes microseconds.
const CREATES: Ns = 1_000_000;

fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let more = more(to);
    let changed = separate(to);
    if changed == 0 {
        return 0;
    }
    waits_for_no_queue(scene, to);
    if scene.is_of_a_machine() {
        take_longer_to_start(scene, &more, to);
    }
    changed
}

/// Gives streams that share a queue one each, or as many as there can be.
pub(super) fn separate(to: &mut Recovered) -> usize {
    let most = to.model.connections.most;
    let shared = to.recorded.queues.iter().flatten().filter(|queue| queue.count < most).count();
    to.recorded.queues.iter_mut().for_each(|queue| {
        *queue = queue.filter(|queue| queue.count > 1).map(|queue| Queue { count: most, ..queue });
    });
    let aliased = std::mem::take(&mut to.aliased);
    aliased.iter().for_each(|row| to.recorded.works[*row as usize].after = None);
    shared + aliased.len()
}

/// A launch waits for no other that holds the mutex of its hardware queue.
pub(super) fn waits_for_no_queue(scene: &Scene<'_>, to: &mut Recovered) {
    let behind_queues = to.behind_queues.clone();
    if behind_queues.is_empty() {
        return;
    }
    to.lets_pass(scene, |at, _| behind_queues.get(&at.id).is_some_and(|of| !of.others));
    for at in scene.calls() {
        if let Some(of) = behind_queues.get(&at.id)
            && let Some(call) = to.call_mut(at)
        {
            take([&mut call.after_ns, &mut call.held_ns, &mut call.before_ns], of.own);
        }
    }
}

/// By process: how many queues it needs besides those that its streams with kernels have now.
fn more(to: &Recovered) -> Vec<u32> {
    let launched: BTreeSet<u32> =
        to.recorded.works.iter().filter(|work| work.is_launched()).map(|work| work.stream).collect();
    let mut first = 0;
    let of_process = |streams: u32| {
        let rows = first..first + streams;
        first += streams;
        let wanted = launched.range(rows.clone()).count() as u32;
        let queues = launched.range(rows).map(|row| to.recorded.queues.get(*row as usize).copied().flatten());
        let (mut own, mut shared) = (0, BTreeSet::new());
        queues.for_each(|queue| match queue {
            Some(Queue { number, count, .. }) => drop(shared.insert((number, count))),
            None => own += 1,
        });
        let has = own + shared.iter().map(|(_, count)| count).sum::<u32>();
        wanted.min(to.model.connections.most).saturating_sub(has)
    };
    let processes = to.recorded.workload.processes.iter();
    processes.map(|process| process.streams.len() as u32).map(of_process).collect()
}

/// A process with more queues takes longer to create its context and to end, of which only the first may be in the trace.
fn take_longer_to_start(scene: &Scene<'_>, more: &[u32], to: &mut Recovered) {
    let each = to.model.connections.start_ns + to.model.connections.end_ns;
    for (process, more) in more.iter().enumerate().filter(|(_, more)| **more > 0) {
        if let Some(call) = creation(scene, process).and_then(|at| to.call_mut(at)) {
            let once = each * Ns::from(*more);
            call.before_ns += once;
            to.once += once;
        }
    }
}

/// The call in which a process created its first context.
fn creation(scene: &Scene<'_>, process: usize) -> Option<At> {
    let calls = &scene.trace.calls;
    let creates = |call: &CallId| {
        let at = call.index();
        let (name, ns) = (scene.name(*call), calls.end[at] - calls.start[at]);
        let of = scene.trace.process_of_thread(calls.thread[at]).some().map_or(0, ProcessId::index);
        of == process
            && ns >= CREATES
            && ["cuDevicePrimaryCtxRetain", "cuCtxCreate"].iter().any(|one| name.starts_with(one))
    };
    let first = calls.ids().filter(creates).min_by_key(|call| calls.start[call.index()])?;
    let (start, thread) = (calls.start[first.index()], calls.thread[first.index()]);
    let contains = |call: usize| calls.start[call] <= start && start < calls.end[call];
    scene.calls().find(|at| calls.thread[at.id.index()] == thread && contains(at.id.index()))
}
