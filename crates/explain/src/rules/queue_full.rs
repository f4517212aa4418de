//! `queue-full`: a launch waits because its stream has too many pending launches.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::{Facts, Pending};
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::GRAPH;
use crate::{Cause, Confidence, Evidence, Piece, Sentence};
use trace::{CallId, Ns, OpId};

pub(super) static ABOUT: About = About {
    meaning: "a stream has as many pending launches as it takes (about 1,022); the next one waits",
    brief: "launches wait because the stream is full",
    bound: Bound::Driver,
    family: Family::Sync,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[GRAPH],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    Statement {
        because: pending(grounds).unwrap_or_else(|| tracers_record(grounds)),
        why: "a stream takes about 1,022 pending launches; the next one waits for a place",
        fixes: vec![GRAPH],
    }
}

/// The number of pending operations, in words; `None` if only the tracer's records show that they were too many.
fn pending(grounds: &Grounds<'_>) -> Option<Sentence> {
    let counts = || {
        grounds.group.facts.iter().filter_map(|fact| match fact {
            Fact::Pending(count) => Some(*count as u64),
            _ => None,
        })
    };
    let (least, most) = (counts().min()?, counts().max()?);
    let pending = " operations were pending in the stream when ";
    let began = if grounds.group.count() == 1 { "the call began" } else { "each call began" };
    Some(match least == most {
        true => sentence![Piece::Number(most), pending, began],
        false => sentence![Piece::Number(least), " to ", Piece::Number(most), pending, "the calls began"],
    })
}

fn tracers_record(grounds: &Grounds<'_>) -> Sentence {
    let name = grounds.tracers_record().unwrap_or(Piece::Text(""));
    sentence!["the tracer's own record \"", name, "\" lies in the calls"]
}

/// Pending operations from which a stream is likely full. A stream takes about 1,022 pending launches before the next one
/// waits (seed 000's systems and an H200; a V100 trace shows waits from 1,015 on). This is a little less, because
/// records may be missing and some commands are no operations, such as event records.
const NEARLY_FULL: usize = 1000;

/// Pending calls from which a launch certainly waits.
const FULL: usize = 1015;

/// Pending calls or operations that are more than the known limit: such a stream has another limit.
const MORE_THAN_FULL: usize = 1100;

/// Least time from a launch into a full stream to the start of its work, ns: [`NEARLY_FULL`] kernels of a microsecond.
const AHEAD: Ns = 1_000_000;

/// Claims the time for which a launch waits for a place in its stream.
pub(crate) fn full(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if let Some((confidence, pending)) = finds_full(facts, call).filter(|_| parts.mostly_open()) {
        let reason = Reason::new(Cause::QueueFull, Evidence::Record, confidence, Fact::Pending(pending.ops));
        parts.claim(facts.start(call), facts.end(call) - facts.usual(call), reason);
    }
}

/// Whether a short launch waits for a place in its stream.
pub(crate) fn delays(facts: &Facts<'_>, call: CallId) -> bool {
    let ops = &facts.trace.ops;
    let is_ahead = |op: &OpId| ops.start[op.index()] - facts.start(call) >= AHEAD;
    facts.ops(call).first().is_some_and(is_ahead)
        && finds_full(facts, call).is_some_and(|(confidence, _)| confidence != Confidence::Possible)
}

/// How sure it is that a launch finds its stream full, and what is pending there.
fn finds_full(facts: &Facts<'_>, call: CallId) -> Option<(Confidence, Pending)> {
    if !facts.class(call).enqueues() || !facts.one_clock() {
        return None;
    }
    let stream = facts.stream(call);
    let pending = facts.pending(stream, facts.start(call));
    // A graph adds many operations at once: it may start below the limit and end above it.
    let own = facts.ops(call).len();
    // In a V100's trace a graph's kernels count one by one: copies wait from 1,015 of them on. It is unknown whether other
    // drivers count them so.
    let confidence = match pending {
        Pending { calls: MORE_THAN_FULL.., .. } => Confidence::Possible,
        Pending { calls: FULL.., .. } => Confidence::Certain,
        Pending { ops: MORE_THAN_FULL.., .. } => Confidence::Possible,
        Pending { ops: NEARLY_FULL.., .. } => Confidence::Likely,
        Pending { ops: ops @ 1.., .. } if own > 1 && ops + own >= NEARLY_FULL => Confidence::Possible,
        _ => return None,
    };
    Some((confidence, pending))
}
