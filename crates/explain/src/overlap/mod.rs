//! Overlap of copies and kernels: how much of it a program reaches, and why not more.
//!
//! A device is at best as fast as its busiest engine: what ran while that engine was idle could have run beside it.
//! Each such gap is examined by itself: the operation that the busiest engine ran next, and what that waited for, back
//! to an operation that was ready earlier, or whose thread issued it late (`slip.rs`). The time is lost to the rule
//! that explains that delay (`late.rs`, `host.rs`). The gaps do not overlap, so that the losses never exceed what was
//! possible.

mod account;
mod host;
mod late;
mod lost;
mod queue;
mod rule;
mod slip;
mod times;

pub use lost::{Behind, LateOps, LostOverlap};
pub use rule::OverlapRule;

use account::account;
use host::Host;
use queue::Queue;
use serde::Serialize;
use std::cell::OnceCell;
use std::sync::Arc;
use trace::{Clock, DeviceId, Ns, OpId, Selection, Trace};
use waits::{Ability, Engine, Index, ops_by_device};

/// The overlap of a device's copies and kernels. Times are unions over all streams, contexts and processes.
#[derive(Clone, Debug, Serialize)]
pub struct Overlap {
    /// CUDA device index.
    pub device: i64,
    /// Marketing name.
    pub name: String,
    /// Time with copies from the host, ns.
    pub copies_in_ns: Ns,
    /// Time with copies to the host, ns.
    pub copies_out_ns: Ns,
    /// Time with kernels or fills, ns.
    pub kernels_ns: Ns,
    /// Time with copies within devices or between them, or migrations of unified memory, ns; not part of the sums below.
    pub other_ns: Ns,
    /// Time with any operation, ns.
    pub busy_ns: Ns,
    /// Time with at least two of copies in, copies out and kernels, ns.
    pub two_ns: Ns,
    /// Time with all three, ns.
    pub three_ns: Ns,
    /// Number of copy engines; `null` if the trace does not record it: then the figures below are those of one engine.
    pub copy_engines: Option<u32>,
    /// Time that full overlap would save, compared with all operations one after another, ns.
    pub possible_ns: Ns,
    /// Time that overlap saved, ns.
    pub reached_ns: Ns,
    /// Whether losses are explained: only if host and GPU times are on one clock.
    pub judged: bool,
    /// The part of `possible_ns - reached_ns` that has a known cause, most time first.
    pub lost: Vec<LostOverlap>,
}

impl Overlap {
    /// Overlap that the device allowed and that was not reached, ns.
    pub fn missed_ns(&self) -> Ns {
        self.possible_ns - self.reached_ns
    }

    /// The part of the missed overlap that has a known cause, ns.
    pub fn explained_ns(&self) -> Ns {
        self.lost.iter().map(|lost| lost.lost_ns).sum()
    }
}

/// The overlap of each device's copies and kernels in the selected time. Selected threads and names have no effect: a
/// device's engines serve all threads.
pub fn overlaps(trace: &Trace, selection: &Selection) -> Vec<Overlap> {
    with_index(trace, selection, || Arc::new(Index::of(trace)))
}

/// Like [`overlaps`], but with a function that makes the trace's index: not every trace needs it.
pub(crate) fn with_index<'a>(
    trace: &'a Trace,
    selection: &Selection,
    index: impl Fn() -> Arc<Index<'a>>,
) -> Vec<Overlap> {
    let window = (selection.from.unwrap_or(Ns::MIN), selection.to.unwrap_or(Ns::MAX));
    let host = OnceCell::new();
    let host = || host.get_or_init(|| Host::new(index()));
    let devices = trace.devices.ids().zip(ops_by_device(trace)).filter(|(_, ops)| !ops.is_empty());
    let mut found: Vec<Overlap> =
        devices.filter_map(|(device, ops)| of_device(trace, device, &ops, window, host)).collect();
    found.sort_by_key(|overlap| overlap.device);
    found
}

fn of_device<'a>(
    trace: &'a Trace,
    device: DeviceId,
    ops: &[OpId],
    window: (Ns, Ns),
    host: impl Fn() -> &'a Host<'a>,
) -> Option<Overlap> {
    let mut queue = Queue::new(trace, ops, Ability::of(trace, device));
    let times = times::Times::of(&queue, window);
    if times.busy == 0 {
        return None;
    }
    let judged = trace.meta.clock == Clock::Aligned;
    let mut overlap = Overlap {
        device: trace.devices.ordinal[device.index()],
        name: trace.text(trace.devices.name[device.index()]).to_owned(),
        copies_in_ns: times.of_engine(Engine::CopyIn),
        copies_out_ns: times.of_engine(Engine::CopyOut),
        kernels_ns: times.of_engine(Engine::Compute),
        other_ns: times.of_engine(Engine::Other),
        busy_ns: times.busy,
        two_ns: times.at_least_two,
        three_ns: times.all_three,
        copy_engines: queue.ability.copy_engines,
        possible_ns: times.possible(),
        reached_ns: times.reached(),
        judged,
        lost: Vec::new(),
    };
    if overlap.missed_ns() > 0 && judged {
        let host = host();
        queue.issued(host);
        let late = late::late(&host.index, device, ops, &queue);
        overlap.lost = account(&queue, &times, host, &late);
    }
    Some(overlap)
}
