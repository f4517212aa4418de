//! Kernels that were done before their recorded end: from compute capability 2.0 to Hyper-Q, kernels of several streams that
//! were issued back to back signal their end together.

use crate::constants::SIGNAL_TOGETHER;
use rustc_hash::FxHashMap;
use trace::{Ns, OpId, OpKind, Trace};

/// When a kernel was done that signalled together with others.
#[derive(Clone, Copy)]
pub struct Done {
    /// The moment, ns: an estimate.
    pub at: Ns,
    /// The kernel that was done last, whose end all signalled.
    pub last: OpId,
}

/// When kernels that signalled together with others were done, as far as it was before their recorded end: after the time that
/// the same kernel takes when it signals alone, or is the last to be done. An estimate.
pub fn done_before_signal(trace: &Trace, ops: &[OpId]) -> FxHashMap<OpId, Done> {
    let (starts, ends) = (&trace.ops.start, &trace.ops.end);
    let mut kernels: Vec<OpId> =
        ops.iter().copied().filter(|op| trace.ops.kind[op.index()] == OpKind::Kernel).collect();
    kernels.sort_unstable_by_key(|op| (ends[op.index()], *op));
    // Its name, grid and block.
    let kernel = |op: OpId| {
        let row = trace.ops.row(op);
        (row.name, [row.grid_x, row.grid_y, row.grid_z], [row.block_x, row.block_y, row.block_z])
    };
    let mut shortest = FxHashMap::default();
    for op in &kernels {
        let took = ends[op.index()] - starts[op.index()];
        let least = shortest.entry(kernel(*op)).or_insert(took);
        *least = took.min(*least);
    }
    let mut done = FxHashMap::default();
    let near = |a: &OpId, b: &OpId| ends[b.index()] - ends[a.index()] <= SIGNAL_TOGETHER;
    let alone = |op: OpId| starts[op.index()] + shortest.get(&kernel(op)).copied().unwrap_or(0);
    for together in kernels.chunk_by(near).filter(|kernels| kernels.len() > 1) {
        let Some(last) = together.iter().copied().max_by_key(|op| (alone(*op), *op)) else { continue };
        let early = |op: &OpId| *op != last && alone(*op) + SIGNAL_TOGETHER < ends[op.index()];
        done.extend(together.iter().copied().filter(early).map(|op| (op, Done { at: alone(op), last })));
    }
    done
}
