//! The passes of the rules over a slow call, in their order.

use crate::analysis::parts::Parts;
use crate::analysis::{blocking_copy, recorded_waits};
use crate::facts::Facts;
use crate::rules::{
    Holders, allocation, driver_lock, explicit_sync, first_use, implicit_device_sync, profiler_overhead,
    queue_full,
};
use trace::CallId;

/// A pass: examines one slow call and claims the part of its time that it explains.
enum Pass {
    /// By the call alone.
    Of(fn(&Facts<'_>, CallId, &mut Parts)),
    /// By the call, and by those that may hold a lock.
    Against(fn(&Facts<'_>, &Holders, CallId, &mut Parts)),
}

/// The passes in the order in which they run; no pass claims time that an earlier one claimed. Recorded waits for locks are
/// first, then what the GPU's and the tracer's records prove, and last what is inferred from timing.
const PASSES: &[Pass] = &[
    Pass::Of(recorded_waits::split),
    Pass::Of(first_use::loading),
    Pass::Of(profiler_overhead::of_this_thread),
    Pass::Of(explicit_sync::asked),
    Pass::Of(blocking_copy::split),
    Pass::Of(implicit_device_sync::of_free),
    Pass::Of(queue_full::full),
    Pass::Of(profiler_overhead::of_any_thread),
    Pass::Of(implicit_device_sync::beside_a_wait),
    Pass::Against(driver_lock::held),
    Pass::Against(first_use::inferred),
    Pass::Against(driver_lock::contended),
    Pass::Of(driver_lock::in_line),
    Pass::Of(allocation::own),
    Pass::Of(profiler_overhead::unrecorded),
];

/// Splits a slow call's time among causes.
pub(crate) fn split(facts: &Facts<'_>, holders: &Holders, call: CallId) -> Parts {
    let mut parts = Parts::new(facts.start(call), facts.end(call));
    for pass in PASSES {
        match pass {
            Pass::Of(pass) => pass(facts, call, &mut parts),
            Pass::Against(pass) => pass(facts, holders, call, &mut parts),
        }
    }
    parts
}
