//! `profiler-overhead`: the tracer's own buffer requests and flushes.

use crate::class::Class;
use crate::facts::Facts;
use crate::parts::{Fact, Parts, Reason};
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, Ns, RangeId, Source};

/// Overhead that the tracer says happened on this very thread.
pub(super) fn of_this_thread(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    for range in overlapping(facts, call) {
        if facts.trace.ranges.thread[range.index()] == facts.thread(call) {
            claim(facts, range, Confidence::Certain, parts);
        }
    }
}

/// Overhead of which the tracer does not name the thread, where it fills most of the call: a
/// buffer is requested by the call that finds none left (on an H200 2.6 ms within a launch of
/// 2.6 ms). What merely happens during a long call says nothing.
pub(super) fn of_any_thread(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    for range in overlapping(facts, call) {
        let (start, end) = times(facts, range);
        let fills = 2 * parts.open_within(start, end) >= facts.duration(call);
        if facts.trace.ranges.thread[range.index()].is_none() && fills && parts.mostly_open() {
            claim(facts, range, Confidence::Likely, parts);
        }
    }
}

/// A Kineto trace without overhead records, and a call that only reads state took a millisecond
/// or more with nothing of the program beside it: a buffer request looks like this, and so does a
/// thread that lost its CPU.
pub(super) fn unrecorded(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    const LEAST: Ns = 1_000_000;
    let silent = facts.trace.meta.source == Source::Kineto && facts.overheads.is_empty();
    let only_reads = facts.class(call) == Class::Query && facts.ops(call).is_empty();
    if silent && only_reads && facts.duration(call) >= LEAST && parts.claimed.is_empty() {
        let guess =
            Reason::new(Cause::ProfilerOverhead, Evidence::Timing, Confidence::Possible, Fact::None);
        parts.claim(facts.start(call), facts.end(call), guess);
    }
}

fn claim(facts: &Facts<'_>, range: RangeId, confidence: Confidence, parts: &mut Parts) {
    let (start, end) = times(facts, range);
    let name = facts.trace.ranges.name[range.index()];
    let reason = Reason::new(Cause::ProfilerOverhead, Evidence::Record, confidence, Fact::Tracer(name));
    parts.claim(start, end, reason);
}

fn times(facts: &Facts<'_>, range: RangeId) -> (Ns, Ns) {
    (facts.trace.ranges.start[range.index()], facts.trace.ranges.end[range.index()])
}

fn overlapping(facts: &Facts<'_>, call: CallId) -> Vec<RangeId> {
    let (start, end) = (facts.start(call), facts.end(call));
    let began = facts.overheads.partition_point(|range| times(facts, *range).0 < end);
    facts.overheads[..began].iter().copied().filter(|range| times(facts, *range).1 > start).collect()
}
