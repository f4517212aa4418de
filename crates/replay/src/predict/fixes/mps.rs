//! Processes on one GPU share an MPS server.

use super::{Fix, Scene};
use crate::Recovered;
use rustc_hash::FxHashMap;
use sim::Queue;
use trace::{Ns, OpId, Sym};
use workload::ContextId;

pub(super) const FIX: Fix = Fix {
    id: "mps",
    text: "run the processes under MPS (nvidia-cuda-mps-control -d)",
    safety: "safe if a fault in one process may end the others",
    apply,
};

/// Contexts no longer take turns: those that [`process_per_thread`](super::process_per_thread) made, or those of the trace.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let processes = to.recorded.workload.processes.iter().filter(|process| !process.threads.is_empty());
    match (to.recorded.workload.mps, to.turns && processes.count() >= 2) {
        (false, _) => together(to),
        (true, true) => without_turns(scene, to),
        (true, false) => 0,
    }
}

/// Clients of an MPS server have few hardware queues each.
fn together(to: &mut Recovered) -> usize {
    to.recorded.workload.mps = true;
    let most = to.model.connections.mps.max(1);
    let mut queues = Vec::with_capacity(to.recorded.queues.len());
    for process in &to.recorded.workload.processes {
        let first = queues.len() as u32;
        let mut of_context: FxHashMap<ContextId, Vec<u32>> = FxHashMap::default();
        for (row, stream) in (first..).zip(&process.streams) {
            let of = of_context.entry(stream.context).or_default();
            of.push(row);
            queues.push(Some(Queue { number: of[(of.len() - 1) % most as usize], in_order: true, count: 1 }));
        }
    }
    to.recorded.queues = queues;
    to.recorded.works.iter().filter(|work| work.is_launched()).count()
}

/// Kernels of contexts that take turns take the least time that the same kernel took: what is longer was another one's turn.
fn without_turns(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let ops = &scene.trace.ops;
    let same = |op: OpId| -> (Sym, u32, u32, u32) {
        let at = op.index();
        (ops.name[at], ops.grid_x[at], ops.grid_y[at], ops.block_x[at])
    };
    let kernels = to.recorded.works.iter().enumerate().filter(|(_, work)| work.is_launched());
    let kernels: Vec<(usize, OpId)> =
        kernels.map(|(row, _)| (row, scene.op(row as u32))).filter(|(_, op)| op.is_some()).collect();
    let mut least: FxHashMap<(Sym, u32, u32, u32), Ns> = FxHashMap::default();
    for (row, op) in &kernels {
        let ns = to.recorded.works[*row].ns;
        least.entry(same(*op)).and_modify(|least| *least = ns.min(*least)).or_insert(ns);
    }
    for (row, op) in &kernels {
        let work = &mut to.recorded.works[*row];
        work.ns = least[&same(*op)];
    }
    to.turns = false;
    kernels.len()
}
