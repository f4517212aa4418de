//! A slow call's time, split among causes.

use crate::{Cause, Confidence, Evidence};
use trace::{CallId, Ns, OpId, Sym, ThreadId, WaitId};

/// Why a part of a call's time was lost.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    pub cause: Cause,
    pub evidence: Evidence,
    pub confidence: Confidence,
    pub holder: Holder,
    /// Others that fit as well.
    pub or: Vec<CallId>,
    pub fact: Fact,
}

impl Reason {
    pub fn new(cause: Cause, evidence: Evidence, confidence: Confidence, fact: Fact) -> Reason {
        Reason { cause, evidence, confidence, holder: Holder::Nobody, or: Vec::new(), fact }
    }

    pub fn held_by(self, call: CallId) -> Reason {
        Reason { holder: call.some().map_or(Holder::Nobody, Holder::Call), ..self }
    }
}

/// Who was waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    /// Nobody, or nobody knows whom.
    Nobody,
    /// A thread in a call.
    Call(CallId),
    /// A thread of which no call is in the trace.
    Thread(ThreadId),
}

/// What a reason rests on, in figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fact {
    /// Nothing to add.
    None,
    /// This operation was waited for.
    Awaited(OpId),
    /// This copy was of so many bytes and took so many ns.
    Copied { op: OpId, bytes: i64, time: Ns },
    /// So many bytes were to be copied by a call that took so many ns, waiting included; the launch that its thread put
    /// into the stream before it, if any.
    Asked { bytes: i64, time: Ns, launch: CallId },
    /// Calls kept the driver one after another while this one waited: the holder was one of them.
    InLine,
    /// Work that this call launched was waited for; the GPU's records lack it.
    Launched(CallId),
    /// So many operations were pending in the stream.
    Pending(usize),
    /// The tracer did this meanwhile.
    Tracer(Sym),
    /// First use of this kernel or function.
    First(Sym),
    /// The GPU had nothing to do that the trace knows of.
    Idle,
    /// The operating system's calls show the lock wait.
    LockCall,
    /// The lock wait was recorded; this is about `time` ns of it, of which the holder's call covers so much, ns.
    /// `shared`: it was for a lock that several threads share, one call after another.
    Waited { wait: WaitId, time: Ns, covered: Ns, shared: bool },
}

impl Fact {
    /// The launch whose work was waited for, where the GPU's records lack it.
    pub fn launch(&self) -> Option<CallId> {
        match self {
            Fact::Launched(launch) => Some(*launch),
            Fact::Asked { launch, .. } => launch.some(),
            _ => None,
        }
    }
}

/// A part of a call's time with a reason.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub reason: Reason,
    pub lost: Ns,
    /// Where the lost time begins, ns.
    pub from: Ns,
    /// Where it ends, ns; earlier claims may have taken pieces in between.
    pub to: Ns,
}

/// The time of one call: what is claimed, and what is still free.
pub(crate) struct Parts {
    free: Vec<(Ns, Ns)>,
    duration: Ns,
    pub claimed: Vec<Part>,
}

impl Parts {
    pub fn new(start: Ns, end: Ns) -> Parts {
        Parts { free: vec![(start, end)], duration: end - start, claimed: Vec::new() }
    }

    /// Time without a reason, ns.
    pub fn rest(&self) -> Ns {
        self.free.iter().map(|(start, end)| end - start).sum()
    }

    /// Whether at least half of the call has no reason yet.
    pub fn mostly_open(&self) -> bool {
        self.rest() >= self.duration / 2
    }

    /// Time within `[from, to)` without a reason, ns.
    pub fn open_within(&self, from: Ns, to: Ns) -> Ns {
        self.free.iter().map(|(start, end)| ((*end).min(to) - (*start).max(from)).max(0)).sum()
    }

    /// Gives what is free in `[from, to)` to `reason`.
    pub fn claim(&mut self, from: Ns, to: Ns, reason: Reason) {
        let lost = self.open_within(from, to);
        if lost == 0 {
            return;
        }
        let taken = self.free.iter().map(|(start, end)| ((*start).max(from), (*end).min(to)));
        let taken = taken.filter(|(start, end)| start < end);
        let (first, last) =
            taken.fold((Ns::MAX, Ns::MIN), |(first, last), (start, end)| (first.min(start), last.max(end)));
        let cut = |&(start, end): &(Ns, Ns)| [(start, end.min(from)), (start.max(to), end)];
        self.free = self.free.iter().flat_map(cut).filter(|(start, end)| start < end).collect();
        self.claimed.push(Part { reason, lost, from: first, to: last });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_never_overlap_and_add_up() {
        let reason = || Reason::new(Cause::HiddenSync, Evidence::Record, Confidence::Certain, Fact::None);
        let mut parts = Parts::new(100, 200);
        parts.claim(120, 140, reason());
        parts.claim(90, 130, reason());
        parts.claim(190, 300, reason());
        parts.claim(120, 140, reason());
        let lost: Vec<_> = parts.claimed.iter().map(|part| part.lost).collect();
        assert_eq!(lost, [20, 20, 10]);
        assert_eq!(parts.rest(), 50);
        assert_eq!(parts.open_within(0, 150), 10);
        let bounds =
            |parts: &Parts| -> Vec<_> { parts.claimed.iter().map(|part| (part.from, part.to)).collect() };
        assert_eq!(bounds(&parts), [(120, 140), (100, 120), (190, 200)]);
        // Around an earlier claim.
        let mut parts = Parts::new(100, 200);
        parts.claim(120, 140, reason());
        parts.claim(110, 150, reason());
        assert_eq!(bounds(&parts), [(120, 140), (110, 150)]);
    }
}
