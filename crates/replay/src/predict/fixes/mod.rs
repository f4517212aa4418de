//! Changes to a program, applied to its recovered steps: one file each.
//!
//! To add one: write `fixes/NAME.rs`, declare it as a module, and add it to [`FIXES`].

mod alone;
mod batched_copies;
mod device_scalar;
mod fix;
mod graph;
mod issue_order;
mod loading;
mod more_connections;
pub(crate) mod more_cpus;
mod mps;
mod no_gil;
mod non_blocking_stream;
mod own_stream;
mod pinned_reused;
mod pool_allocator;
mod process_per_gpu;
mod process_per_thread;
mod scene;
mod staged_copies;
mod warm_up;

pub use fix::Fix;
pub(crate) use scene::{At, Scene};

/// All of them, in the order in which they are applied: MPS is for processes, and the last ones move calls.
pub const FIXES: &[Fix] = &[
    own_stream::FIX,
    non_blocking_stream::FIX,
    pinned_reused::FIX,
    device_scalar::FIX,
    batched_copies::FIX,
    pool_allocator::FIX,
    graph::FIX,
    more_connections::FIX,
    process_per_gpu::FIX,
    process_per_thread::FIX,
    mps::FIX,
    no_gil::FIX,
    more_cpus::FIX,
    warm_up::FIX,
    issue_order::FIX,
    staged_copies::FIX,
];

/// How many of the last ones move calls: what looks for a call at its step is applied before.
pub(crate) const MOVING: usize = 2;
