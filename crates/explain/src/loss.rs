//! Every loss by itself: what findings sum up, for whoever draws or lists single waits.

use crate::analysis::recorded_waits;
use crate::facts::Facts;
use crate::parts::{Fact, Holder, Part};
use crate::stretch::Stretch;
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, Ns, OpId, Renumbered, ThreadId, Trace, WaitId};

/// A part of a thread's time that one cause took: in a slow call, or in a recorded wait for a lock
/// wherever that was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The thread that lost time.
    pub thread: ThreadId,
    /// The call of the program's own that it lost it in; `NONE` in no call of the trace.
    pub call: CallId,
    /// Where the lost time begins, ns; of a recorded wait, where the wait does.
    pub start: Ns,
    /// Where it ends, ns; of a recorded wait, where the wait does.
    pub end: Ns,
    /// Time that the cause took, ns: less than from start to end where another cause took a part of it, and
    /// 0 for a recorded wait that no finding counts.
    pub lost_ns: Ns,
    /// Why.
    pub cause: Cause,
    /// What this rests on.
    pub evidence: Evidence,
    /// How sure it is.
    pub confidence: Confidence,
    /// The thread that was waited for, where there is one.
    pub holder: ThreadId,
    /// That thread's call, of the program's own; `NONE` where it was in no call of the trace.
    pub holder_call: CallId,
    /// The GPU operation that was waited for, where the GPU's records name one.
    pub awaited: OpId,
    /// The recorded wait that this is; `NONE` where it is inferred, and of a part of a wait that one of several holders
    /// answers for.
    pub wait: WaitId,
    /// The finding that counts it, as an index into [`crate::Explanation::findings`]; `None` for recorded waits that
    /// do not add up to one.
    pub finding: Option<u32>,
}

impl Loss {
    pub(crate) fn of(trace: &Trace, stretch: Stretch, part: &Part) -> Loss {
        let reason = &part.reason;
        let (holder, holder_call) = match reason.holder {
            Holder::Nobody => (ThreadId::NONE, CallId::NONE),
            Holder::Call(call) => (trace.calls.thread[call.index()], call),
            Holder::Thread(thread) => (thread, CallId::NONE),
        };
        let mut loss = Loss {
            thread: stretch.thread(trace),
            call: stretch.call().unwrap_or(CallId::NONE),
            start: part.from,
            end: part.to,
            lost_ns: part.lost,
            cause: reason.cause,
            evidence: reason.evidence,
            confidence: reason.confidence,
            holder,
            holder_call,
            awaited: OpId::NONE,
            wait: WaitId::NONE,
            finding: None,
        };
        if let Fact::Awaited(op) = reason.fact {
            loss.awaited = op;
        }
        if let Fact::Waited { wait, time, .. } = reason.fact {
            let row = trace.waits.row(wait);
            // One of several holders answers for a part of a wait; the wait itself is another loss.
            if time == row.end - row.start {
                (loss.wait, loss.start, loss.end) = (wait, row.start, row.end);
            }
            loss.thread = row.thread.some().unwrap_or(loss.thread);
        }
        loss
    }
}

impl Loss {
    /// The same in a part of the trace; `None` for a recorded wait that is not in it.
    pub fn in_part(self, numbers: &Renumbered) -> Option<Loss> {
        let wait = numbers.wait(self.wait);
        let (call, holder_call) = (numbers.call(self.call), numbers.call(self.holder_call));
        let awaited = numbers.op(self.awaited);
        (self.wait.is_none() || wait.is_some()).then_some(Loss { call, holder_call, awaited, wait, ..self })
    }
}

/// Adds the recorded waits that are not among `losses`, so that each is there once.
pub(crate) fn add_other_waits(facts: &Facts<'_>, losses: &mut Vec<Loss>) {
    let mut known = vec![false; facts.trace.waits.len()];
    for wait in losses.iter().filter_map(|loss| loss.wait.some()) {
        known[wait.index()] = true;
    }
    for wait in facts.trace.waits.ids().filter(|wait| !known[wait.index()]) {
        let call = facts.outermost(facts.trace.waits.call[wait.index()]);
        let stretch = call.some().map_or(Stretch::Wait(wait), Stretch::Call);
        let reason = recorded_waits::reason(facts, stretch, wait);
        let part = Part { reason, lost: 0, from: 0, to: 0 };
        losses.push(Loss::of(facts.trace, stretch, &part));
    }
}
