//! Repeated sequences of launches become one launch of a graph.

use super::scene::At;
use super::{Fix, Scene};
use crate::Recovered;
use crate::predict::untraced;
use explain::Class;
use rustc_hash::{FxHashMap, FxHasher};
use sim::{Does, Locks, Rows, Work, WorkKind};
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
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

/// How much sooner the next node starts than a launched kernel's recorded time is over, ns: 80 to 220, in eight sizes of kernels from 1.2 to
/// 18 µs, graphs of 30 and 60 nodes without CUPTI beside launches with it (H100, driver 580).
const SOONER: Ns = 160;

/// Some launched kernels take up to 1.1 µs longer than at other times, as CUPTI records them: none on one H100, a third on another, which issued
/// launches faster; the same graphs took as long on both (`graph` of `benches/whatif`). A kernel that takes longer than its quickest
/// quarter by so much is one of them, ns.
const LONGER: RangeInclusive<Ns> = 300..=1_200;

/// The calls of a thread's launches between two calls that wait or do something else.
type Sequence = Vec<At>;

/// From the third time on, a sequence costs the launch of a graph, and no time between its launches.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let nodes = Nodes::of(scene, to);
    let mut changed = 0;
    for row in 0..to.recorded.threads.len() {
        let mut seen: FxHashMap<u64, usize> = FxHashMap::default();
        for sequence in sequences(scene, row) {
            let count = seen.entry(kernels(scene, &sequence)).or_default();
            *count += 1;
            if *count > FIRST {
                changed += sequence.len();
                become_graph(to, &sequence, &nodes);
            }
        }
    }
    changed
}

/// How kernels follow each other as nodes of a graph.
enum Nodes {
    /// As in the model: all with this gap, ns.
    Modelled(Ns),
    /// As on a machine, by row of a work.
    Measured(Vec<Node>),
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// How much less it takes than the launched kernel, ns.
    less: Ns,
    gap: Ns,
}

impl Nodes {
    fn of(scene: &Scene<'_>, to: &Recovered) -> Nodes {
        if scene.is_of_a_machine() {
            return Nodes::Measured(measured(scene));
        }
        let device = &to.model.device;
        let closer = device.gap_ns - device.graph_gap_ns;
        Nodes::Modelled((to.least_gap().unwrap_or(device.gap_ns).min(device.gap_ns) - closer).max(0))
    }

    /// Makes a launched kernel one of them. The first one starts as the launch of the graph lets it.
    fn add(&self, row: u32, work: &mut Work, is_first: bool) {
        let node = match self {
            Nodes::Modelled(gap) => Node { less: 0, gap: *gap },
            Nodes::Measured(nodes) => nodes.get(row as usize).copied().unwrap_or_default(),
        };
        work.ns -= node.less.min(work.ns);
        // A graph's kernels wait for no other stream's in a hardware queue: 32 streams do 7,121 graphs/s on 16 connections, 7,292 on 32 (H200).
        if let WorkKind::Kernel { in_graph, .. } = &mut work.kind {
            *in_graph = true;
        }
        if !is_first {
            (work.gap_ns, work.latency_ns) = (Some(node.gap.min(work.gap_ns.unwrap_or(node.gap))), Some(0));
        }
    }
}

/// The launched kernels of a machine as nodes: each follows the one before after its recorded time, less [`SOONER`].
fn measured(scene: &Scene<'_>) -> Vec<Node> {
    let works = &scene.base.recorded.works;
    let rows = || {
        (0..)
            .zip(works)
            .filter(|(row, work)| work.is_launched() && scene.op(*row).is_some())
            .map(|(row, _)| row)
    };
    let ns =
        |row: u32| scene.trace.ops.end[scene.op(row).index()] - scene.trace.ops.start[scene.op(row).index()];
    let mut times: FxHashMap<u64, Vec<Ns>> = FxHashMap::default();
    for row in rows() {
        times.entry(kernel(scene, row)).or_default().push(ns(row));
    }
    let quick: FxHashMap<u64, Ns> = times
        .into_iter()
        .map(|(kernel, mut times)| {
            let quarter = times.len() / 4;
            (kernel, *times.select_nth_unstable(quarter).1)
        })
        .collect();
    let mut nodes = vec![Node::default(); works.len()];
    for row in rows() {
        let (ns, quick) = (ns(row), quick[&kernel(scene, row)]);
        let less = if LONGER.contains(&(ns - quick)) { ns - quick } else { 0 };
        nodes[row as usize] = Node { less, gap: (untraced::of_kernel(ns) - SOONER).max(0) };
    }
    nodes
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
        kernel(scene, works.first).hash(&mut hasher);
    }
    hasher.finish()
}

/// Which kernel a work is.
fn kernel(scene: &Scene<'_>, work: u32) -> u64 {
    let (ops, op) = (&scene.trace.ops, scene.op(work));
    let mut hasher = FxHasher::default();
    if let Some(op) = op.some() {
        let at = op.index();
        (ops.name[at], ops.grid_x[at], ops.grid_y[at], ops.block_x[at]).hash(&mut hasher);
    }
    hasher.finish()
}

fn become_graph(to: &mut Recovered, sequence: &Sequence, nodes: &Nodes) {
    let rule = to.model.calls.graph_launch.clone();
    let (first, last) = (sequence[0], sequence[sequence.len() - 1]);
    to.close(first.row, first.at..last.at);
    for (number, at) in sequence.iter().enumerate() {
        let unit = (rule.unit_ns * sequence.len() as f64) as i64;
        let Some(call) = to.call_mut(*at) else { continue };
        (call.before_ns, call.held_ns, call.after_ns) = match number {
            0 => (rule.before_ns, rule.held_ns + unit, rule.after_ns),
            _ => (0, 0, 0),
        };
        if number > 0 {
            // It is not called any more, and waits for nobody.
            (call.locks, call.behind) = (Locks::default(), Rows::default());
        }
        if let Does::Issue { works, .. } = call.does {
            nodes.add(works.first, &mut to.recorded.works[works.first as usize], number == 0);
        }
    }
}
