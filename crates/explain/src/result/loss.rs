//! Every loss by itself, for outputs that draw or list single waits; findings are their sums.

use crate::analysis::parts::{Fact, Holder, Part};
use crate::facts::stretch::Stretch;
use crate::{Cause, Confidence, Evidence};
use trace::{CallId, Ns, OpId, Renumbered, ThreadId, Trace, WaitId};

/// A part of a thread's time that one cause took: in a slow call, or in a recorded wait for a lock anywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The thread that lost time.
    pub thread: ThreadId,
    /// The outermost call in which it lost the time; `NONE` outside the trace's calls.
    pub call: CallId,
    /// Start of the lost time, or of the recorded wait, ns.
    pub start: Ns,
    /// End of the lost time, or of the recorded wait, ns.
    pub end: Ns,
    /// Time that the cause took, ns: less than from start to end if another cause took a part of it, and 0 for a recorded
    /// wait that no finding counts.
    pub lost_ns: Ns,
    /// The cause.
    pub cause: Cause,
    /// The evidence that it rests on.
    pub evidence: Evidence,
    /// The confidence.
    pub confidence: Confidence,
    /// The thread that was waited for; `NONE` if unknown.
    pub holder: ThreadId,
    /// Outermost call of the thread that was waited for; `NONE` if it was in no call of the trace.
    pub holder_call: CallId,
    /// The GPU operation that was waited for; `NONE` if the GPU's records show none.
    pub awaited: OpId,
    /// The recorded wait that this is; `NONE` if it is inferred, or if it is one holder's part of a wait for several.
    pub wait: WaitId,
    /// The finding that counts it, as an index into [`crate::Explanation::findings`]; `None` for recorded waits that do
    /// not add up to a finding.
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
            // If several holders share a wait, each has a part of it; the wait itself is another loss.
            if time == row.end - row.start {
                (loss.wait, loss.start, loss.end) = (wait, row.start, row.end);
            }
            loss.thread = row.thread.some().unwrap_or(loss.thread);
        }
        loss
    }
}

impl Loss {
    /// The same loss in a part of the trace; `None` for a recorded wait that is not in that part.
    pub fn in_part(self, numbers: &Renumbered) -> Option<Loss> {
        let wait = numbers.wait(self.wait);
        let (call, holder_call) = (numbers.call(self.call), numbers.call(self.holder_call));
        let awaited = numbers.op(self.awaited);
        (self.wait.is_none() || wait.is_some()).then_some(Loss { call, holder_call, awaited, wait, ..self })
    }
}
