//! Repeated sequences of launches become one launch of a graph.

use super::scene::At;
use super::{Fix, Scene};
use crate::{Recovered, StepOf};
use explain::Class;
use rustc_hash::{FxHashMap, FxHasher};
use sim::{CallOf, Does, Locks, RecordedStep, Rows, WorkKind};
use std::hash::{Hash, Hasher};
use trace::Ns;

pub(super) const FIX: Fix = Fix {
    id: "graph",
    text: "submit fewer, larger pieces: a CUDA graph, fused kernels, or a wait before the queue fills",
    safety: "safe if the work and its addresses repeat from one round to the next",
    apply,
};

/// Shorter sequences are left as they are.
const LEAST: usize = 4;

/// Rounds that stay launches: one to warm up, one to capture.
const FIRST: usize = 2;

/// The calls of a thread's launches between two calls that wait or do something else.
type Sequence = Vec<At>;

/// From the third time on, a sequence costs the launch of a graph, and no time between its launches.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let device = &to.model.device;
    // Nodes are closer than launched kernels by what they are in the model. Recorded kernels contain a part of the model's gap, or the gaps
    // between them a part of the model's kernels, as a tracer has their begin and end; simulated ones do not.
    let closer = device.gap_ns - device.graph_gap_ns;
    let most = if scene.is_of_a_machine() { device.gap_ns + to.model.kernels.base_ns } else { device.gap_ns };
    let gap = (to.least_gap().unwrap_or(device.gap_ns).min(most) - closer).max(0);
    let mut changed = 0;
    for row in 0..to.recorded.threads.len() {
        let mut seen: FxHashMap<u64, usize> = FxHashMap::default();
        for sequence in sequences(scene, row) {
            let count = seen.entry(kernels(scene, &sequence)).or_default();
            *count += 1;
            if *count > FIRST {
                changed += sequence.len();
                become_graph(to, &sequence, gap);
            }
        }
    }
    changed
}

fn sequences(scene: &Scene<'_>, row: usize) -> Vec<Sequence> {
    let mut sequences = vec![Sequence::new()];
    for at in scene.calls_of(row) {
        let launches = scene.class(at.id) == Class::Launch && issues_one_kernel(scene, &at);
        match launches {
            true => sequences.last_mut().into_iter().for_each(|last| last.push(at)),
            false if at.call.does == Does::Nothing && !moves_memory(scene.class(at.id)) => {}
            false => sequences.push(Sequence::new()),
        }
    }
    sequences.retain(|sequence| sequence.len() >= LEAST);
    sequences
}

/// A graph has no allocations as launches have them.
fn moves_memory(class: Class) -> bool {
    matches!(class, Class::Allocate | Class::Release)
}

fn issues_one_kernel(scene: &Scene<'_>, at: &At) -> bool {
    let Does::Issue { works, .. } = at.call.does else { return false };
    let kind = scene.base.recorded.works.get(works.first as usize).map(|work| work.kind);
    works.count == 1 && matches!(kind, Some(WorkKind::Kernel { in_graph: false, .. }))
}

/// Which kernels a sequence launches.
fn kernels(scene: &Scene<'_>, sequence: &Sequence) -> u64 {
    let mut hasher = FxHasher::default();
    for at in sequence {
        let Does::Issue { works, .. } = at.call.does else { continue };
        let (ops, op) = (&scene.trace.ops, scene.op(works.first));
        if let Some(op) = op.some() {
            (ops.name[op.index()], ops.grid_x[op.index()], ops.grid_y[op.index()], ops.block_x[op.index()])
                .hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn become_graph(to: &mut Recovered, sequence: &Sequence, gap: Ns) {
    let rule = to.model.calls.graph_launch.clone();
    let (first, last) = (sequence[0], sequence[sequence.len() - 1]);
    for at in first.at..last.at {
        match (&mut to.recorded.threads[first.row][at], to.steps[first.row][at]) {
            (RecordedStep::Host(ns), StepOf::Outside) => *ns = 0,
            // What lies between the launches is not called any more.
            (RecordedStep::Call(call), _) if call.does == Does::Nothing => {
                *call = CallOf { before_ns: 0, held_ns: 0, after_ns: 0, ..*call }
            }
            _ => {}
        }
    }
    for (number, at) in sequence.iter().enumerate() {
        let nodes = (rule.unit_ns * sequence.len() as f64) as i64;
        let Some(call) = to.call_mut(*at) else { continue };
        (call.before_ns, call.held_ns, call.after_ns) = match number {
            0 => (rule.before_ns, rule.held_ns + nodes, rule.after_ns),
            _ => (0, 0, 0),
        };
        if number > 0 {
            // It is not called any more, and waits for nobody.
            (call.locks, call.behind) = (Locks::default(), Rows::default());
        }
        if let (Does::Issue { works, .. }, 1..) = (call.does, number) {
            let work = &mut to.recorded.works[works.first as usize];
            (work.gap_ns, work.latency_ns) = (Some(gap.min(work.gap_ns.unwrap_or(gap))), Some(0));
        }
    }
}
