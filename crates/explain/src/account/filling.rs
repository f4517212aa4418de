//! Kernels that have too few blocks to fill a GPU: others could run beside them.

use super::busy::Busy;
use super::gaps::Timeline;
use super::late::exchanges;
use crate::Place;
use crate::facts::Facts;
use crate::facts::places::{PLACED, Places};
use crate::facts::stretch::Stretch;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use trace::{CallId, Ns, OpId, OpKind, Sym, Trace};

/// The largest part of the multiprocessors for which kernels have blocks that do not fill the GPU: a choice.
const FILLED: f64 = 0.5;

/// Kernels that do not fill a GPU.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SmallKernels {
    /// The part of the multiprocessors for which they have blocks, at most and on average over their time, 0 to 1.
    pub filled: f64,
    /// The kernel that takes most of their time.
    pub kernel: String,
    /// Where most of its launches are, by time; `null` if unknown.
    #[serde(rename = "where")]
    pub place: Option<Place>,
}

impl SmallKernels {
    /// The kernels of a GPU if they do not fill it; `None` for a GPU whose kernels exchange data with other GPUs: these need few blocks.
    pub(super) fn of(facts: &Facts<'_>, timeline: &Timeline<'_>, busy: &Busy) -> Option<SmallKernels> {
        let trace = facts.trace;
        let multiprocessors = trace.devices.multiprocessors[timeline.device.index()];
        let busy_ns = busy.kernels_ns + busy.both_ns;
        if multiprocessors == 0 || busy_ns == 0 || exchanges(trace, timeline) {
            return None;
        }
        let ops = &trace.ops;
        let is_work =
            |op: &OpId| matches!(ops.kind[op.index()], OpKind::Kernel | OpKind::Graph | OpKind::Unknown);
        let mut waiting = FxHashMap::<Sym, bool>::default();
        let mut taken = 0.0;
        let mut kernels = BTreeMap::<Sym, (Ns, Vec<(CallId, Ns)>)>::new();
        for op in timeline.ops().iter().copied().filter(is_work) {
            let length = ops.end[op.index()] - ops.start[op.index()];
            let part = blocks(trace, op).map_or(1.0, |blocks| (blocks / f64::from(multiprocessors)).min(1.0));
            let name = ops.name[op.index()];
            let is_small = part < FILLED && !*waiting.entry(name).or_insert_with(|| waits(trace.text(name)));
            taken += length as f64 * if is_small { part } else { 1.0 };
            if is_small {
                let (all, calls) = kernels.entry(name).or_default();
                *all += length;
                let call = facts.outermost(ops.call[op.index()]).some().filter(|_| calls.len() < PLACED);
                calls.extend(call.map(|call| (call, length)));
            }
        }
        let filled = taken / busy_ns as f64;
        if filled >= FILLED {
            return None;
        }
        let (name, (_, calls)) = kernels.into_iter().max_by_key(|(_, (ns, _))| *ns)?;
        let places = Places::new(trace, calls.iter().map(|(call, _)| Stretch::Call(*call)).collect());
        let place = places.most(calls).cloned();
        Some(SmallKernels { filled, kernel: trace.text(name).to_owned(), place })
    }
}

/// The blocks of a kernel; `None` if its grid is unknown.
fn blocks(trace: &Trace, op: OpId) -> Option<f64> {
    let (ops, at) = (&trace.ops, op.index());
    let grid = [ops.grid_x[at], ops.grid_y[at], ops.grid_z[at]];
    let is_known = ops.kind[at] == OpKind::Kernel && grid.iter().all(|size| *size > 0);
    is_known.then(|| grid.iter().map(|size| f64::from(*size)).product())
}

/// Whether a kernel of this name does nothing but take time, as that of `torch.cuda._sleep`: what it stands for is unknown.
fn waits(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["spin_kernel", "sleep", "delay"].iter().any(|part| name.contains(part))
}
