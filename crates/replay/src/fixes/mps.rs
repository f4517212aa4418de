//! Processes on one GPU share an MPS server.

use super::{Fix, Scene};
use crate::Recovered;
use rustc_hash::FxHashMap;

pub(super) const FIX: Fix = Fix {
    id: "mps",
    text: "run the processes under MPS (nvidia-cuda-mps-control -d)",
    safety: "safe if a fault in one process may end the others",
    apply,
};

/// Contexts of several processes on one device no longer take turns.
fn apply(_: &Scene<'_>, to: &mut Recovered) -> usize {
    let workload = &mut to.recorded.workload;
    let mut processes: FxHashMap<u32, usize> = FxHashMap::default();
    for process in &workload.processes {
        let mut devices: Vec<u32> = process.contexts.iter().map(|context| context.device).collect();
        devices.sort_unstable();
        devices.dedup();
        devices.into_iter().for_each(|device| *processes.entry(device).or_default() += 1);
    }
    let several = processes.values().filter(|count| **count > 1).sum();
    workload.mps |= several > 0 && to.model.sharing.mps;
    if workload.mps { several } else { 0 }
}
