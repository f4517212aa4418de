//! Device memory from a pool that keeps it.

use super::{Fix, Scene};
use crate::Recovered;
use explain::Class;
use rustc_hash::FxHashSet;
use sim::Does;

pub(super) const FIX: Fix = Fix {
    id: "pool-allocator",
    text: "allocate once, or from a pool that keeps its memory: a caching allocator, or cudaMallocAsync with a release threshold",
    safety: "safe if each free is ordered after the last use in its stream",
    apply,
};

/// Allocations and frees of device memory cost what the model's pool costs, wait for nothing, and no call waits for them. Each thread's first
/// allocation still fills the pool.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let mut changed = FxHashSet::default();
    for row in 0..to.recorded.threads.len() {
        let of_device = |at: &super::scene::At| {
            let name = scene.name(at.id);
            let memory = matches!(scene.class(at.id), Class::Allocate | Class::Release);
            memory
                && !["Host", "Async", "Array", "Module", "Library"].iter().any(|other| name.contains(other))
        };
        let first = scene.calls_of(row).find(|at| scene.class(at.id) == Class::Allocate).map(|at| at.at);
        for at in scene.calls_of(row).filter(of_device).filter(|at| Some(at.at) != first) {
            let pool = to.model.calls.pool.clone();
            let Some(call) = to.call_mut(at) else { continue };
            call.before_ns = call.before_ns.min(pool.before_ns);
            call.held_ns = call.held_ns.min(pool.held_ns);
            call.after_ns = call.after_ns.min(pool.after_ns);
            call.does = Does::Nothing;
            changed.insert((at.row, at.at));
        }
    }
    to.lets_pass_beside(scene, &changed);
    changed.len()
}
