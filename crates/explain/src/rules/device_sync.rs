//! `implicit-device-sync`: freeing, unpinning and unloading wait for the device.

use crate::class::Class;
use crate::facts::Facts;
use crate::parts::{Fact, Parts, Reason};
use crate::{Cause, Confidence, Evidence};
use trace::CallId;

pub(super) fn implicit(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    let confidence = match facts.class(call) {
        Class::Release => Confidence::Certain,
        // An allocation that finds no memory frees what it may, which waits; others do not.
        Class::Allocate => Confidence::Possible,
        _ => return,
    };
    if !facts.one_clock() {
        return;
    }
    let (start, end) = (facts.start(call), facts.end(call));
    let Some(idle) = facts.idle_after(facts.process(call), facts.device(call), start) else { return };
    if idle <= start || idle > end {
        return;
    }
    // The call returns with the work, or goes on to unmap memory for no longer than it waited.
    let confidence = match end - idle {
        tail if tail <= facts.tolerance(call) => confidence,
        tail if confidence == Confidence::Certain && tail <= idle - start => Confidence::Likely,
        _ => return,
    };
    let reason = Reason::new(Cause::ImplicitDeviceSync, Evidence::Record, confidence, Fact::None);
    parts.claim(start, idle, reason);
}
