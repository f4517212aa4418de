//! The rules: each looks at one slow call and claims the part of its time that it can explain.
//! They run in the order of [`split`]; an earlier rule's claim is not taken from it.

mod allocation;
mod copy;
mod device_sync;
mod first_use;
mod line;
mod lock;
mod overhead;
mod owners;
mod queue;
mod sharers;
mod sync;
mod waits;

pub(crate) use copy::RATED_BYTES;
pub(crate) use lock::Holders;
pub(crate) use waits::{elsewhere as waits_elsewhere, reason as reason_of_wait};

use crate::facts::Facts;
use crate::parts::Parts;
use trace::CallId;

/// Splits a slow call's time: recorded waits for locks come first, then what the GPU's and the
/// tracer's records prove, and what is inferred from timing last.
pub(crate) fn split(facts: &Facts<'_>, holders: &Holders, call: CallId) -> Parts {
    let mut parts = Parts::new(facts.start(call), facts.end(call));
    waits::recorded(facts, call, &mut parts);
    first_use::loading(facts, call, &mut parts);
    overhead::of_this_thread(facts, call, &mut parts);
    sync::explicit(facts, call, &mut parts);
    copy::blocking(facts, call, &mut parts);
    device_sync::implicit(facts, call, &mut parts);
    queue::full(facts, call, &mut parts);
    overhead::of_any_thread(facts, call, &mut parts);
    device_sync::beside_a_wait(facts, call, &mut parts);
    lock::held(facts, holders, call, &mut parts);
    first_use::inferred(facts, holders, call, &mut parts);
    lock::contended(facts, holders, call, &mut parts);
    lock::in_line(facts, call, &mut parts);
    allocation::own(facts, call, &mut parts);
    overhead::unrecorded(facts, call, &mut parts);
    parts
}
