//! The passes of the rules over a slow call, in their order.

use crate::analysis::parts::Parts;
use crate::analysis::{blocking_copy, recorded_waits};
use crate::facts::Facts;
use crate::rules::{
    Holders, allocation, blocking_launch, driver_lock, explicit_sync, first_use, implicit_device_sync,
    object_churn, pool_trim, profiler_overhead, queue_full,
};
use crate::{Cause, Class};
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
    Pass::Of(implicit_device_sync::of_load),
    Pass::Of(object_churn::of_object),
    Pass::Of(first_use::loading),
    Pass::Of(profiler_overhead::of_this_thread),
    Pass::Of(explicit_sync::asked),
    Pass::Of(blocking_launch::waits),
    Pass::Of(blocking_copy::split),
    Pass::Of(implicit_device_sync::of_free),
    Pass::Of(queue_full::full),
    Pass::Of(profiler_overhead::of_any_thread),
    Pass::Of(implicit_device_sync::beside_a_wait),
    Pass::Against(driver_lock::held),
    Pass::Against(first_use::inferred),
    Pass::Against(driver_lock::contended),
    Pass::Of(driver_lock::in_line),
    Pass::Of(pool_trim::refill),
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

/// The cause of a call's time that no pass claimed: of a short call, or the rest of a slow one.
pub(crate) fn of_rest(facts: &Facts<'_>, call: CallId) -> Cause {
    match facts.class(call) {
        Class::Sync if explicit_sync::reads(facts, call).is_some() => Cause::HiddenSync,
        Class::Sync => Cause::ExplicitSync,
        Class::Copy { blocking } if explicit_sync::fetches(facts, call, blocking) => Cause::HiddenSync,
        Class::Create | Class::Load | Class::Release if facts.churn(call).is_some() => Cause::ObjectChurn,
        class if class != Class::Sync && facts.refills_pool(call) => Cause::PoolTrim,
        Class::Allocate | Class::Release => Cause::Allocation,
        Class::Launch if facts.blocks_for(call).is_some() => Cause::BlockingLaunch,
        class if class.enqueues() && queue_full::delays(facts, call) => Cause::QueueFull,
        class if class != Class::Sync && facts.is_of_new_graph(call) => Cause::ObjectChurn,
        _ => Cause::OwnWork,
    }
}
