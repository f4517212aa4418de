//! `profiler-overhead`: the tracer requests or flushes its own buffers.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::Facts;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::{Cause, Confidence, Evidence, Sentence};
use trace::{CallId, Ns, RangeId};
use waits::Class;

pub(super) static ABOUT: About = About {
    meaning: "the tracer requests or flushes its own buffers",
    brief: "the profiler's own work",
    bound: Bound::Unknown,
    family: Family::Setup,
    nature: Nature::Lost,
    evidence: &[Evidence::Lock, Evidence::Record, Evidence::Timing],
    fixes: &[],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    Statement {
        because: grounds.recorded().unwrap_or_else(|| because(grounds)),
        why: "the tracer requests or flushes its own buffers",
        fixes: Vec::new(),
    }
}

fn because(grounds: &Grounds<'_>) -> Sentence {
    match grounds.tracers_record() {
        Some(name) => sentence!["the tracer's own record, such as \"", name, "\", fills the call"],
        None => sentence![
            "a call that only reads state, with no other reason to take long; the trace has no records of the tracer's \
             overhead, so a thread that lost its CPU fits as well"
        ],
    }
}

/// The importer's name for the source whose older releases record no overhead of the tracer.
const KINETO: &str = "kineto";

/// Shortest overhead that is worth a finding, ns.
const LEAST_OVERHEAD: Ns = 10_000;

/// Claims overhead that the tracer recorded on the call's thread.
pub(crate) fn of_this_thread(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    for range in facts.overheads_during(call) {
        let (start, end) = times(facts, range);
        let here = facts.trace.ranges.thread[range.index()] == facts.thread(call);
        if here && parts.open_within(start, end) >= LEAST_OVERHEAD {
            claim(facts, range, Confidence::Certain, parts);
        }
    }
}

/// Claims overhead on any thread of the process, or without a thread, if it fills most of the call: a call that finds no
/// buffer left requests one (on an H200 2.6 ms within a launch of 2.6 ms). Overhead that merely happens during a long call
/// proves nothing.
pub(crate) fn of_any_thread(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    let trace = facts.trace;
    for range in facts.overheads_during(call) {
        let (start, end) = times(facts, range);
        let thread = trace.ranges.thread[range.index()];
        let of_process = thread.is_none() || trace.process_of_thread(thread) == facts.process(call);
        let fills = parts.open_within(start, end) >= facts.duration(call) / 2;
        let may_load = !loads(facts, range) || may_load(facts, call, range);
        if of_process && may_load && fills && parts.mostly_open() {
            claim(facts, range, Confidence::Likely, parts);
        }
    }
}

/// Whether the tracer recorded that the driver loaded code during the call.
pub(super) fn loads_within(facts: &Facts<'_>, call: CallId) -> bool {
    let trace = facts.trace;
    facts.overheads_during(call).into_iter().any(|range| {
        let thread = trace.ranges.thread[range.index()];
        let here = thread == facts.thread(call) || thread.is_none() && may_load(facts, call, range);
        here && loads(facts, range)
    })
}

/// Whether an overhead record is of code that the driver loads.
fn loads(facts: &Facts<'_>, range: RangeId) -> bool {
    cause_of(facts.trace.text(facts.trace.ranges.name[range.index()])) == Cause::FirstUse
}

/// Whether a launch may have loaded the code of a record of no thread: it is the first of its kernel, or the only launch that the
/// record lies in. A name does not tell the instances of a template apart.
fn may_load(facts: &Facts<'_>, call: CallId, range: RangeId) -> bool {
    let (start, end) = times(facts, range);
    let surrounds = |call: CallId| {
        facts.class(call) == Class::Launch && facts.start(call) <= start && end <= facts.end(call)
    };
    let is_only = || {
        let last = |calls: &Vec<CallId>| {
            let after = calls.partition_point(|call| facts.start(*call) <= start);
            after.checked_sub(1).map(|last| calls[last])
        };
        let others = facts.calls_by_thread().iter().filter_map(last).filter(|other| *other != call);
        surrounds(call) && !others.into_iter().any(surrounds)
    };
    facts.new_kernel(call).is_some() || is_only()
}

/// Claims, in a Kineto trace without overhead records, a call that only reads state, takes a millisecond or more and has no
/// other reason: a buffer request looks like this, and so does a thread that lost its CPU.
pub(crate) fn unrecorded(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    const LEAST: Ns = 1_000_000;
    let silent = facts.trace.meta.source == KINETO && !facts.has_overheads();
    let only_reads = facts.class(call) == Class::Query && facts.ops(call).is_empty();
    if silent && only_reads && facts.duration(call) >= LEAST && parts.claimed.is_empty() {
        let guess = Reason::new(Cause::ProfilerOverhead, Evidence::Timing, Confidence::Possible, Fact::None);
        parts.claim(facts.start(call), facts.end(call), guess);
    }
}

fn claim(facts: &Facts<'_>, range: RangeId, confidence: Confidence, parts: &mut Parts) {
    let (start, end) = times(facts, range);
    let name = facts.trace.ranges.name[range.index()];
    let cause = cause_of(facts.trace.text(name));
    parts.claim(start, end, Reason::new(cause, Evidence::Record, confidence, Fact::Tracer(name)));
}

/// The cause of an overhead record: CUPTI also reports work as overhead that the driver does for the program.
fn cause_of(name: &str) -> Cause {
    match name {
        "Driver Compiler" | "Lazy Function Loading" | "Runtime Triggered Module Loading" => Cause::FirstUse,
        "Command Buffer Full" => Cause::QueueFull,
        _ => Cause::ProfilerOverhead,
    }
}

fn times(facts: &Facts<'_>, range: RangeId) -> (Ns, Ns) {
    (facts.trace.ranges.start[range.index()], facts.trace.ranges.end[range.index()])
}
