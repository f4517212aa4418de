//! Times of calls and kernels that meet no others.

use super::Scene;
use super::scene::{At, Crowded};
use crate::Recovered;
use crate::predict::beside::divide;
use explain::Class;
use rustc_hash::FxHashMap;
use sim::{CallOf, Does};
use std::collections::BTreeMap;
use trace::{CallId, ContextId, DeviceId, Ns, OpId, Sym};

/// A call that takes longer than others of its name by more than this did not only meet other threads: longer waits for locks are not
/// part of its own cost, ns.
const CROWDED: Ns = 20_000;

/// So many show what one takes.
const ENOUGH: usize = 30;

/// Calls that met those of other threads in their context cost what they cost alone: threads contend for a mutex of their context at each
/// launch, and for what the driver writes (H200: 5.8 µs a launch alone, 9.5 µs beside seven other threads, 1.2 µs of it in waits for locks).
/// Threads of several contexts, as of several GPUs, do not: two that launch into a GPU each gained nothing as processes (H200).
pub(super) fn calls(scene: &Scene<'_>, to: &mut Recovered) {
    let rule = &to.model.calls.launch;
    let launch = rule.before_ns + rule.held_ns + rule.after_ns;
    for Crowded { row, at, own, least } in scene.crowded(crowded) {
        let least = least.unwrap_or(launch);
        if *own > least
            && own - least < CROWDED
            && let Some(call) = to.call_at(*row as usize, *at as usize)
        {
            let part = |ns: Ns| (i128::from(ns) * i128::from(least) / i128::from(*own)) as Ns;
            (call.before_ns, call.held_ns) = (part(call.before_ns), part(call.held_ns));
            call.after_ns = least - call.before_ns - call.held_ns;
        }
    }
}

/// A call that issues operations, as short as a million of them need.
#[derive(Clone, Copy)]
struct Issues {
    id: CallId,
    /// Its thread and step.
    row: u32,
    at: u32,
    own: Ns,
}

/// The calls that met those of other threads, where it is known what they cost alone.
fn crowded(scene: &Scene<'_>) -> Vec<Crowded> {
    let (starts, ends) = (&scene.trace.calls.start, &scene.trace.calls.end);
    let mut of: BTreeMap<Option<ContextId>, Vec<Issues>> = BTreeMap::new();
    for call in scene.calls().filter(|at| enqueues(scene.class(at.id))) {
        let (row, at, own) = (call.row as u32, call.at as u32, own_ns(&call.call));
        of.entry(context(scene, &call)).or_default().push(Issues { id: call.id, row, at, own });
    }
    let name = |call: &Issues| scene.trace.calls.name[call.id.index()];
    let time = |call: &Issues| (starts[call.id.index()], ends[call.id.index()]);
    let (mut alone, mut met): (FxHashMap<Sym, Vec<Ns>>, Vec<Issues>) = Default::default();
    for calls in of.into_values() {
        divide(calls, time, |call, meets| match meets {
            false => alone.entry(name(&call)).or_default().push(call.own),
            true => met.push(call),
        });
    }
    let usual = usual(alone);
    let of = |call: Issues| {
        let least = usual.get(&name(&call)).copied();
        let is_known = least.is_some() || scene.class(call.id) == Class::Launch;
        is_known.then_some(Crowded { row: call.row, at: call.at, own: call.own, least })
    };
    met.into_iter().filter_map(of).collect()
}

/// Kernels that ran beside those of other streams take what they take alone, as far as that is what the model adds between kernels of
/// several hardware queues: the GPU's front end serves all queues, and a recorded kernel ends when it is told so (H200: 3.6 µs alone,
/// 5.6 µs beside seven other streams). What they took longer than that, they took for what they share: it stays.
pub(super) fn kernels(scene: &Scene<'_>, to: &mut Recovered) {
    let ops = &scene.trace.ops;
    let mut of: BTreeMap<DeviceId, Vec<(u32, OpId)>> = BTreeMap::new();
    for (row, work) in (0..).zip(&to.recorded.works) {
        if let Some(op) = scene.op(row).some().filter(|_| work.is_launched()) {
            of.entry(scene.trace.device_of_stream(ops.stream[op.index()])).or_default().push((row, op));
        }
    }
    let same = |op: OpId| {
        (ops.name[op.index()], ops.grid_x[op.index()], ops.grid_y[op.index()], ops.block_x[op.index()])
    };
    let time = |(_, op): &(u32, OpId)| (ops.start[op.index()], ops.end[op.index()]);
    let (mut alone, mut met): (FxHashMap<_, Vec<Ns>>, Vec<(u32, OpId)>) = Default::default();
    let works = &to.recorded.works;
    for kernels in of.into_values() {
        divide(kernels, time, |(row, op), meets| match meets {
            false => alone.entry(same(op)).or_default().push(works[row as usize].ns),
            true => met.push((row, op)),
        });
    }
    let (usual, queues) = (usual(alone), to.recorded.queues.len().saturating_sub(1));
    let most = to.model.device.queue_gap_ns * queues as Ns;
    for (row, op) in met {
        let work = &mut to.recorded.works[row as usize];
        if let Some(least) = usual.get(&same(op)).filter(|least| **least < work.ns) {
            work.ns -= (work.ns - least).min(most);
        }
    }
}

/// The median of each, where there are enough.
pub(super) fn usual<K: Eq + std::hash::Hash>(times: FxHashMap<K, Vec<Ns>>) -> FxHashMap<K, Ns> {
    let enough = times.into_iter().filter(|(_, times)| times.len() >= ENOUGH);
    let median = |mut times: Vec<Ns>| {
        let middle = times.len() / 2;
        *times.select_nth_unstable(middle).1
    };
    enough.map(|(of, times)| (of, median(times))).collect()
}

/// The context that a call issues into.
fn context(scene: &Scene<'_>, at: &At) -> Option<ContextId> {
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
