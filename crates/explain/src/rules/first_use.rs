//! `first-use`: contexts, modules and functions that are set up when first needed.

use super::lock::Holders;
use super::overhead;
use crate::class::{Class, makes_context};
use crate::facts::Facts;
use crate::parts::{Fact, Parts, Reason};
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, Ns};

/// A first call at least this long has set something large up: a context, a module.
const SURELY_SETUP: Ns = 5_000_000;

/// Calls that load code load code: nothing to infer.
pub(super) fn loading(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if facts.class(call) == Class::Load {
        let name = facts.trace.calls.name[call.index()];
        let reason = Reason::new(Cause::FirstUse, Evidence::Record, Confidence::Certain, Fact::First(name));
        parts.claim(facts.start(call), facts.end(call), reason);
    }
}

/// The first launch of a kernel, the first call of a name in its process, or the first on a device, which makes the
/// context there.
pub(super) fn inferred(facts: &Facts<'_>, holders: &Holders, call: CallId, parts: &mut Parts) {
    if !parts.mostly_open() {
        return;
    }
    let calls = &facts.trace.calls;
    let kernel = facts.new_kernel(call).map(|op| facts.trace.ops.name[op.index()]);
    let name = match (kernel, facts.class(call)) {
        (Some(kernel), Class::Launch) => kernel,
        (_, Class::Sync) => return,
        _ if facts.is_first_call(call) && !facts.is_nothing_new(call) => calls.name[call.index()],
        _ if facts.duration(call) >= SURELY_SETUP
            && (makes_context(facts.trace.text(calls.name[call.index()]))
                || facts.is_once_on_device(call)) =>
        {
            calls.name[call.index()]
        }
        _ => return,
    };
    let loads = overhead::loads_within(facts, call);
    // What a part of a trace has first need not be the first of all.
    if facts.trace.meta.is_part() && !loads {
        return;
    }
    let or = holders.beside(facts, call);
    let (evidence, confidence) = match facts.duration(call) {
        _ if kernel.is_some() && loads => (Evidence::Record, Confidence::Likely),
        SURELY_SETUP.. if or.is_empty() => (Evidence::Timing, Confidence::Likely),
        // A tracer that starts in the middle of a run makes first calls slow as well.
        _ => (Evidence::Timing, Confidence::Possible),
    };
    let reason = Reason { or, ..Reason::new(Cause::FirstUse, evidence, confidence, Fact::First(name)) };
    parts.claim(facts.start(call), facts.end(call) - facts.usual(call), reason);
}
