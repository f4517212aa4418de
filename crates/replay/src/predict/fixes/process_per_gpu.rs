//! A process for each GPU.

use super::{Fix, Scene, no_gil};
use crate::Recovered;
use sim::Scope;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const FIX: Fix = Fix {
    id: "process-per-gpu",
    text: "drive each GPU from its own process: the driver's locks are per process",
    safety: "safe if the threads of different GPUs share no memory; each process has contexts and a start-up of its own",
    apply,
};

/// Threads of different GPUs share neither the driver's locks nor an interpreter's. A thread that issues work to several GPUs stays as it is, and
/// so do all others.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let Some(devices) = devices(to) else { return 0 };
    let mut threads: BTreeMap<u32, usize> = BTreeMap::new();
    devices.values().for_each(|device| *threads.entry(*device).or_default() += 1);
    if threads.len() < 2 {
        return 0;
    }
    to.model.locks.mutex_of = Scope::Context;
    let of = |row: usize| devices.get(&row);
    to.lets_pass(scene, |at, number| {
        scene
            .holder(number)
            .is_some_and(|holder| of(at.row).zip(of(holder.row)).is_some_and(|(own, other)| own != other))
    });
    if threads.values().all(|count| *count == 1) {
        no_gil::apply(scene, to);
    }
    devices.len()
}

/// The device of each thread that issues operations, by row; `None` if one issues to several.
fn devices(to: &Recovered) -> Option<BTreeMap<usize, u32>> {
    let contexts: Vec<u32> = to
        .recorded
        .workload
        .processes
        .iter()
        .flat_map(|process| {
            let device =
                |context: u32| process.contexts.get(context as usize).map_or(0, |context| context.device);
            process.streams.iter().map(move |stream| device(stream.context.0)).collect::<Vec<_>>()
        })
        .collect();
    let mut devices = BTreeMap::new();
    for row in 0..to.threads.len() {
        let of: BTreeSet<u32> = to
            .streams_of(row)
            .into_iter()
            .filter_map(|stream| contexts.get(stream as usize).copied())
            .collect();
        match of.len() {
            0 => {}
            1 => _ = devices.insert(row, *of.first()?),
            _ => return None,
        }
    }
    Some(devices)
}
