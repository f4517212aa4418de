//! A process for each thread.

use super::{Fix, Scene, alone, more_connections, no_gil, own_stream};
use crate::Recovered;
use sim::{CallOf, Does, RecordedStep, Rows};
use std::collections::{BTreeMap, BTreeSet};
use trace::{Ns, ProcessId};
use workload::{ContextId, Process, Stream};

pub(super) const FIX: Fix = Fix {
    id: "process-per-thread",
    text: "run each thread as a process of its own, best under MPS",
    safety: "safe if the threads share no memory; each process has a context of its own, some 500 MB of device memory",
    apply,
};

/// Each thread has a context of its own, and shares neither the driver's locks nor an interpreter's. Without MPS the contexts take turns.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let shared = sharing(scene, to);
    if shared.is_empty() {
        return 0;
    }
    own_stream::divide(to);
    let threads: usize = shared.values().map(Vec::len).sum();
    for (process, rows) in &shared {
        rows[1..].iter().for_each(|row| own_contexts(to, *process, *row));
    }
    // A process has the hardware queues that all threads had.
    more_connections::separate(to);
    more_connections::waits_for_no_queue(scene, to);
    waits_for_own(scene, to);
    no_gil::apply(scene, to);
    to.lets_pass(scene, |at, number| scene.holder(number).is_some_and(|holder| holder.row != at.row));
    alone::calls(scene, to);
    alone::kernels(scene, to);
    start_as_in_model(scene, to);
    // The times of contexts that take turns already have their turns.
    to.recorded.workload.mps = to.turns;
    threads
}

/// The threads that issue operations, of each process that has several: rows of its process and its threads.
fn sharing(scene: &Scene<'_>, to: &Recovered) -> BTreeMap<usize, Vec<usize>> {
    let mut of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, thread) in to.threads.iter().enumerate() {
        let Some(thread) = thread.filter(|_| !to.streams_of(row).is_empty()) else { continue };
        let process = scene.trace.process_of_thread(thread).some().map_or(0, ProcessId::index);
        of.entry(process).or_default().push(row);
    }
    of.retain(|_, rows| rows.len() > 1);
    of
}

/// Gives a thread's streams contexts of their own, one for each device.
fn own_contexts(to: &mut Recovered, process: usize, row: usize) {
    let processes = &mut to.recorded.workload.processes;
    let first: usize = processes[..process].iter().map(|process| process.streams.len()).sum();
    let streams = to.streams_of(row);
    let process = &mut to.recorded.workload.processes[process];
    let mut new: BTreeMap<u32, ContextId> = BTreeMap::new();
    for stream in streams {
        let Some(stream) = (stream as usize).checked_sub(first).filter(|at| *at < process.streams.len())
        else {
            continue;
        };
        let old = process.streams[stream].context;
        let device = process.contexts.get(old.0 as usize).map_or(0, |context| context.device);
        let context = *new.entry(device).or_insert_with(|| process.own_context(device));
        process.streams[stream].context = context;
    }
}

/// When a kernel starts depends on other processes where several use its device at the same time: the model knows, not the trace.
fn start_as_in_model(scene: &Scene<'_>, to: &mut Recovered) {
    let contexts = contexts(to);
    let ops = &scene.trace.ops;
    let mut used: BTreeMap<OneContext, (Ns, Ns)> = BTreeMap::new();
    for (row, work) in (0..).zip(&to.recorded.works) {
        if let (Some(context), Some(op)) = (contexts.get(work.stream as usize), scene.op(row).some()) {
            let (start, end) = (ops.start[op.index()], ops.end[op.index()]);
            let span = used.entry(*context).or_insert((start, end));
            *span = (span.0.min(start), span.1.max(end));
        }
    }
    let share = |one: &OneContext, other: &OneContext| {
        let ((start, end), (other_start, other_end)) = (used[one], used[other]);
        one != other && one.device == other.device && start < other_end && other_start < end
    };
    let shared: BTreeSet<OneContext> =
        used.keys().filter(|one| used.keys().any(|other| share(one, other))).copied().collect();
    // Recorded kernels contain a part of the model's gap: between them is less.
    let within = to.least_gap().map_or(0, |least| (to.model.device.gap_ns - least).max(0));
    for work in to.recorded.works.iter_mut().filter(|work| work.is_launched()) {
        let is_shared = contexts.get(work.stream as usize).is_some_and(|context| shared.contains(context));
        if is_shared && work.gap_ns.take().is_some() {
            work.ns = (work.ns - within).max(0);
        }
    }
}

/// A context of a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OneContext {
    device: u32,
    process: usize,
    context: ContextId,
}

/// The contexts of all streams, by row.
fn contexts(to: &Recovered) -> Vec<OneContext> {
    let processes = to.recorded.workload.processes.iter().enumerate();
    let of_process = |(number, process): (usize, &Process)| {
        let of = |stream: &Stream| {
            let device = process.contexts.get(stream.context.0 as usize).map_or(0, |context| context.device);
            OneContext { device, process: number, context: stream.context }
        };
        process.streams.iter().map(of).collect::<Vec<_>>()
    };
    processes.flat_map(of_process).collect()
}

/// Calls that wait for a whole context or device wait for the operations of their own thread only.
fn waits_for_own(scene: &Scene<'_>, to: &mut Recovered) {
    let mut by = vec![usize::MAX; to.recorded.works.len()];
    for (row, steps) in to.recorded.threads.iter().enumerate() {
        for step in steps {
            if let RecordedStep::Call(CallOf { does: Does::Issue { works, .. }, .. }) = step {
                works.iter().for_each(|work| by[work] = row);
            }
        }
    }
    for at in scene.calls() {
        let Some(RecordedStep::Call(CallOf { does: Does::Await(awaited), .. })) =
            to.recorded.threads[at.row].get_mut(at.at)
        else {
            continue;
        };
        let name = scene.name(at.id);
        if ["Event", "Stream"].iter().any(|one| name.contains(one)) {
            continue;
        }
        let first = to.recorded.awaited.len() as u32;
        let own: Vec<u32> = to.recorded.awaited[awaited.iter()]
            .iter()
            .copied()
            .filter(|work| by[*work as usize] == at.row)
            .collect();
        *awaited = Rows { first, count: own.len() as u32 };
        to.recorded.awaited.extend(own);
    }
}
