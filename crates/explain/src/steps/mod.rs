//! Steps: what a program repeats, as a training loop does. `ranges.rs` finds them in the ranges that somebody marked,
//! `graphs.rs` in launches of graphs, `kernels.rs` in the order of kernels, `threads.rs` in the kernels of each of several threads.
//! `account/requests.rs` leaves out the time between them in which nothing was to do; `account/steps.rs` has what their time went into.
//!
//! A step ends when its work on the GPU ends, and the host has come to its end. A host that is ahead of the GPU issues some
//! steps in no time and waits for all of them in the next: the GPU shows how long each takes.

mod builds;
mod found;
mod graphs;
mod kernels;
mod ranges;
mod threads;

pub(crate) use found::{Found, FoundStep, Outliers};
pub use found::{StepSource, without_numbers};

use crate::facts::Facts;
use builds::Builds;
use ranges::Author;
use trace::{DeviceId, Ns, ProcessId, Trace};

/// Finds the steps in a window.
pub(crate) fn find(facts: &Facts<'_>, window: (Ns, Ns)) -> Option<Found> {
    ranges::find(facts.trace, window, Author::Program)
        .or_else(|| graphs::find(facts, window))
        .or_else(|| in_kernels(facts, window))
        .or_else(|| ranges::find(facts.trace, window, Author::Library))
        .map(Found::settled)
}

/// Finds the steps of one stream, if nearly all work is in it; else of the threads that do the same.
fn in_kernels(facts: &Facts<'_>, window: (Ns, Ns)) -> Option<Found> {
    let builds = Builds::of(facts.trace);
    let busiest = kernels::Busiest::of(facts.trace, &builds)?;
    let of_one = kernels::find(facts, window, busiest.stream, &builds);
    if of_one.is_some() && busiest.has_nearly_all {
        return of_one;
    }
    threads::find(facts, window, &busiest, &builds).or(of_one)
}

/// The device on which a process has most operations.
pub(crate) fn busiest(trace: &Trace, process: ProcessId) -> Option<DeviceId> {
    let mut counts = vec![0u64; trace.streams.len()];
    let streams = trace.ops.stream.iter().filter_map(|stream| stream.some());
    streams.for_each(|stream| counts[stream.index()] += 1);
    let mut of_devices = vec![0u64; trace.devices.len()];
    for stream in trace.streams.ids().filter(|stream| trace.process_of_stream(*stream) == process) {
        if let Some(device) = trace.device_of_stream(stream).some() {
            of_devices[device.index()] += counts[stream.index()];
        }
    }
    let used = trace.devices.ids().filter(|device| of_devices[device.index()] > 0);
    used.max_by_key(|device| (of_devices[device.index()], std::cmp::Reverse(device.index())))
}
