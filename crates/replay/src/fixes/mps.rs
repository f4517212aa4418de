//! Processes on one GPU share an MPS server.

use super::{Fix, Scene};
use crate::Recovered;
use rustc_hash::FxHashMap;
use sim::WorkKind;
use trace::{Ns, OpId, Sym};

pub(super) const FIX: Fix = Fix {
    id: "mps",
    text: "run the processes under MPS (nvidia-cuda-mps-control -d)",
    safety: "safe if a fault in one process may end the others",
    apply,
};

/// Kernels of contexts that take turns take the least time that the same kernel took: what is longer was another one's turn.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let processes = to.recorded.workload.processes.iter().filter(|process| !process.threads.is_empty());
    if !to.turns || processes.count() < 2 {
        return 0;
    }
    let ops = &scene.trace.ops;
    let same = |op: OpId| -> (Sym, u32, u32, u32) {
        let at = op.index();
        (ops.name[at], ops.grid_x[at], ops.grid_y[at], ops.block_x[at])
    };
    let is_kernel = |work: &sim::Work| matches!(work.kind, WorkKind::Kernel { in_graph: false, .. });
    let kernels = to.recorded.works.iter().enumerate().filter(|(_, work)| is_kernel(work));
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
