//! A process for each thread.

use super::scene::At;
use super::{Fix, Scene, more_connections, no_gil, own_stream};
use crate::Recovered;
use explain::Class;
use rustc_hash::FxHashMap;
use sim::{CallOf, Does, RecordedStep, Rows};
use std::collections::BTreeMap;
use trace::{ContextId as ContextOf, Ns, ProcessId, Sym};
use workload::ContextId;

pub(super) const FIX: Fix = Fix {
    id: "process-per-thread",
    text: "run each thread as a process of its own, best under MPS",
    safety: "safe if the threads share no memory; each process has a context of its own, some 500 MB of device memory",
    apply,
};

/// A call that takes longer than others of its name by more than this did not only meet other threads: longer waits for locks are not
/// part of its own cost, ns.
const CROWDED: Ns = 20_000;

/// So many calls that met no other thread show what a call costs alone.
const ENOUGH: usize = 30;

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
    more_connections::apply(scene, to);
    waits_for_own(scene, to);
    no_gil::apply(scene, to);
    to.lets_pass(scene, |at, number| scene.holder(number).is_some_and(|holder| holder.row != at.row));
    calls_alone(scene, to);
    // When a kernel starts depends on other processes: the model knows.
    to.recorded.works.iter_mut().filter(|work| work.is_launched()).for_each(|work| work.gap_ns = None);
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

/// What waits for a whole context or device waits for the operations of its own thread only.
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
        let name = scene.name(at.id);
        if ["Event", "Stream"].iter().any(|one| name.contains(one)) {
            continue;
        }
        let Some(RecordedStep::Call(CallOf { does: Does::Await(awaited), .. })) =
            to.recorded.threads[at.row].get_mut(at.at)
        else {
            continue;
        };
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

/// Calls that met those of other threads in their context cost what they cost alone: threads contend for a mutex of their context at each
/// launch, and for what the driver writes (H200: 5.8 µs a launch alone, 9.5 µs beside seven other threads, 1.2 µs of it in waits for locks).
/// Threads of several contexts, as of several GPUs, do not: two that launch into a GPU each gained nothing as processes (H200).
fn calls_alone(scene: &Scene<'_>, to: &mut Recovered) {
    let (starts, ends) = (&scene.trace.calls.start, &scene.trace.calls.end);
    let mut of: BTreeMap<Option<ContextOf>, Vec<At>> = BTreeMap::new();
    for at in scene.calls().filter(|at| enqueues(scene.class(at.id))) {
        of.entry(context(scene, &at)).or_default().push(at);
    }
    let name = |at: &At| scene.trace.calls.name[at.id.index()];
    let (mut alone, mut met): (FxHashMap<Sym, Vec<Ns>>, Vec<At>) = Default::default();
    for mut calls in of.into_values() {
        calls.sort_by_key(|at| (starts[at.id.index()], at.id));
        let mut until = Ns::MIN;
        for (row, at) in calls.iter().enumerate() {
            let [start, end] = [starts, ends].map(|times| times[at.id.index()]);
            let next = calls.get(row + 1).map_or(Ns::MAX, |next| starts[next.id.index()]);
            if until <= start && end <= next {
                alone.entry(name(at)).or_default().push(own_ns(&at.call));
            } else {
                met.push(*at);
            }
            until = until.max(end);
        }
    }
    let usual: FxHashMap<Sym, Ns> = alone
        .into_iter()
        .filter(|(_, costs)| costs.len() >= ENOUGH)
        .map(|(name, mut costs)| {
            let middle = costs.len() / 2;
            (name, *costs.select_nth_unstable(middle).1)
        })
        .collect();
    let rule = &to.model.calls.launch;
    let launch = rule.before_ns + rule.held_ns + rule.after_ns;
    for at in met {
        let own = own_ns(&at.call);
        let of_model = || (scene.class(at.id) == Class::Launch).then_some(launch);
        let Some(least) = usual.get(&name(&at)).copied().or_else(of_model) else { continue };
        if own > least
            && own - least < CROWDED
            && let Some(call) = to.call_mut(at)
        {
            let part = |ns: Ns| (i128::from(ns) * i128::from(least) / i128::from(own)) as Ns;
            (call.before_ns, call.held_ns) = (part(call.before_ns), part(call.held_ns));
            call.after_ns = least - call.before_ns - call.held_ns;
        }
    }
}

/// The context that a call issues into.
fn context(scene: &Scene<'_>, at: &At) -> Option<ContextOf> {
    let Does::Issue { works, .. } = at.call.does else { return None };
    let op = scene.op(works.iter().next()? as u32);
    Some(scene.trace.context_of_stream(scene.trace.ops.stream[op.index()]))
}

fn enqueues(class: Class) -> bool {
    matches!(class, Class::Launch | Class::Fill | Class::Copy { .. })
}

fn own_ns(call: &CallOf) -> Ns {
    call.before_ns + call.held_ns + call.after_ns
}
