//! `queue-full`: launch back-pressure.

use crate::facts::{Facts, Pending};
use crate::parts::{Fact, Parts, Reason};
use crate::{Cause, Confidence, Evidence};
use trace::CallId;

/// A stream takes about 1,022 pending launches before the next one waits (seed 000's systems and
/// an H200; a V100 trace shows waits from 1,015 on). A little under it, for records that are
/// missing and commands that are no operations, such as event records.
const NEARLY_FULL: usize = 1000;

/// From here on nothing else is needed to make a launch wait.
const FULL: usize = 1015;

/// Where more than this were pending, the stream took more than it is known to take: its limit is another.
const MORE_THAN_FULL: usize = 1100;

pub(super) fn full(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    if !facts.class(call).enqueues() || !facts.one_clock() || !parts.mostly_open() {
        return;
    }
    let stream = facts.stream(call);
    let pending = facts.pending(stream, facts.start(call));
    // A graph brings many operations at once: it may start below the limit and end above it.
    let own = facts.ops(call).len();
    // A graph's kernels count one by one in a V100's trace: copies wait from 1,015 of them on. Whether they do for every
    // driver is not known.
    let confidence = match pending {
        Pending { calls: MORE_THAN_FULL.., .. } => Confidence::Possible,
        Pending { calls: FULL.., .. } => Confidence::Certain,
        Pending { ops: MORE_THAN_FULL.., .. } => Confidence::Possible,
        Pending { ops: NEARLY_FULL.., .. } => Confidence::Likely,
        Pending { ops: ops @ 1.., .. } if own > 1 && ops + own >= NEARLY_FULL => Confidence::Possible,
        _ => return,
    };
    let reason = Reason::new(Cause::QueueFull, Evidence::Record, confidence, Fact::Pending(pending.ops));
    parts.claim(facts.start(call), facts.end(call) - facts.usual(call), reason);
}
