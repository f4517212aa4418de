//! `first-use`: contexts, modules and functions are set up when they are first needed.

use super::{Holders, profiler_overhead};
use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::Facts;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::{EAGER_LOADING, pins};
use crate::{Cause, Confidence, Evidence, Piece, Sentence};
use trace::{CallId, Ns};
use waits::{Class, makes_context};

pub(super) static ABOUT: About = About {
    meaning: "contexts, modules and functions are set up when they are first needed",
    brief: "contexts, modules and functions are set up",
    bound: Bound::StartUp,
    family: Family::Setup,
    nature: Nature::Lost,
    evidence: &[Evidence::Record, Evidence::Timing],
    fixes: &[EAGER_LOADING],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    Statement {
        because: because(grounds),
        why: "contexts, modules and functions are set up when they are first needed",
        fixes: vec![EAGER_LOADING],
    }
}

fn because(grounds: &Grounds<'_>) -> Sentence {
    let facts = &grounds.group.facts;
    let first_uses: Vec<Piece> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::First(name) => Some(grounds.name(*name)),
            _ => None,
        })
        .collect();
    let count = first_uses.len();
    let first = match (first_uses.into_iter().next(), count) {
        (None, _) => None,
        (Some(name), 1) => Some(sentence!["first use in the trace of ", name]),
        (Some(name), count) => {
            let count = Piece::Number(count as u64);
            Some(sentence!["first uses in the trace of ", count, " kernels or calls, such as ", name])
        }
    };
    match (first, grounds.tracers_record()) {
        (None, None) => sentence!["the first call in the trace"],
        (None, Some(record)) => sentence!["the tracer's own record \"", record, "\" lies in the call"],
        (Some(first), None) => first,
        (Some(first), Some(record)) => {
            let (some, all) = ((facts.len() - count) as u64, facts.len() as u64);
            let lies = sentence!["; the tracer's own record \"", record, "\" lies in "];
            let of = sentence![Piece::Number(some), " of ", Piece::Number(all), " parts of the time"];
            first.then(lies).then(of)
        }
    }
}

/// Shortest first call that certainly set up something large, ns: a context, a module.
const SURELY_SETUP: Ns = 5_000_000;

/// Claims calls that load code: there is nothing to infer.
pub(crate) fn loading(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if facts.class(call) == Class::Load {
        let name = facts.trace.calls.name[call.index()];
        let reason = Reason::new(Cause::FirstUse, Evidence::Record, Confidence::Certain, Fact::First(name));
        parts.claim(facts.start(call), facts.end(call), reason);
    }
}

/// Claims the first launch of a kernel, the first call of a name in its process, or the first call on a device, which
/// creates the context there.
pub(crate) fn inferred(facts: &Facts<'_>, holders: &Holders, call: CallId, parts: &mut Parts) {
    if !parts.mostly_open() {
        return;
    }
    if facts.duration(call) >= SURELY_SETUP && facts.compiles_within(call) {
        let reason = Reason::new(Cause::KernelBuild, Evidence::Sample, Confidence::Likely, Fact::None);
        return parts.claim(facts.start(call), facts.end(call) - facts.usual(call), reason);
    }
    let calls = &facts.trace.calls;
    let loads = profiler_overhead::loads_within(facts, call);
    let loaded = || facts.ops(call).first().copied().filter(|_| loads);
    let kernel = facts.new_kernel(call).or_else(loaded).map(|op| facts.trace.ops.name[op.index()]);
    let name = match (kernel, facts.class(call)) {
        (Some(kernel), Class::Launch) => kernel,
        (_, Class::Sync) => return,
        // Where the context is there, the pages take the time.
        _ if pins(facts.trace.text(calls.name[call.index()])) && !facts.is_first_on_device(call) => return,
        _ if facts.is_first_call(call) && !facts.is_nothing_new(call) => calls.name[call.index()],
        _ if facts.duration(call) >= SURELY_SETUP
            && (makes_context(facts.trace.text(calls.name[call.index()]))
                || facts.is_once_on_device(call)) =>
        {
            calls.name[call.index()]
        }
        _ => return,
    };
    // The first use in a part of a trace need not be the first of all.
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
