//! A slow call's time, split among causes.

use crate::{Cause, Confidence, Evidence};
use trace::{CallId, Ns, OpId, Sym, ThreadId, WaitId};

/// The reason for which a part of a call's time was lost.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    pub cause: Cause,
    pub evidence: Evidence,
    pub confidence: Confidence,
    pub holder: Holder,
    /// Other calls that fit as well.
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

/// The thread that was waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    /// None, or unknown.
    Nobody,
    /// A thread in a call.
    Call(CallId),
    /// A thread outside the trace's calls.
    Thread(ThreadId),
}

/// The fact that a reason rests on, with its figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fact {
    /// Nothing to add.
    None,
    /// This operation was waited for.
    Awaited(OpId),
    /// This copy had `bytes` bytes and took `time` ns.
    Copied { op: OpId, bytes: i64, time: Ns },
    /// The arguments of a call that took `time` ns, waiting included, name `bytes` bytes to copy; `launch` is the
    /// launch that its thread put into the stream before it, or `NONE`.
    Asked { bytes: i64, time: Ns, launch: CallId },
    /// Calls blocked the driver one after another while this one waited: the holder was one of them.
    InLine,
    /// Work that this call launched was waited for; the GPU's records lack it.
    Launched(CallId),
    /// This many operations were pending in the stream.
    Pending(usize),
    /// The tracer recorded this work of its own meanwhile.
    Tracer(Sym),
    /// The first use of this kernel or function.
    First(Sym),
    /// The GPU had no work that the trace records.
    Idle,
    /// The operating system's calls show the lock wait.
    LockCall,
    /// The lock wait was recorded: `time` ns of it, of which the holder's call covers `covered` ns. `shared`: several
    /// threads held the lock shared, one call after another.
    Waited { wait: WaitId, time: Ns, covered: Ns, shared: bool },
}

impl Fact {
    /// The launch whose work was waited for, if the GPU's records lack that work.
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
    /// Start of the lost time, ns.
    pub from: Ns,
    /// End of the lost time, ns; earlier claims may have pieces in between.
    pub to: Ns,
}

/// The time of one call: the claimed and the free pieces.
pub(crate) struct Parts {
    free: Vec<(Ns, Ns)>,
    duration: Ns,
    pub claimed: Vec<Part>,
    /// The claimed pieces, each with the index of its claim.
    pieces: Vec<(Ns, Ns, usize)>,
}

impl Parts {
    pub fn new(start: Ns, end: Ns) -> Parts {
        Parts { free: vec![(start, end)], duration: end - start, claimed: Vec::new(), pieces: Vec::new() }
    }

    /// The pieces of the call's time without a reason, in order.
    pub fn free(&self) -> impl Iterator<Item = (Ns, Ns)> + '_ {
        self.free.iter().copied()
    }

    /// Time without a reason, ns.
    pub fn rest(&self) -> Ns {
        self.free.iter().map(|(start, end)| end - start).sum()
    }

    /// Whether at least half of the call is without a reason.
    pub fn mostly_open(&self) -> bool {
        self.rest() >= self.duration / 2
    }

    /// Time within `[from, to)` without a reason, ns.
    pub fn open_within(&self, from: Ns, to: Ns) -> Ns {
        self.free.iter().map(|(start, end)| ((*end).min(to) - (*start).max(from)).max(0)).sum()
    }

    /// The claimed pieces of the call's time, each with the index of its claim; in no order, and apart.
    pub fn pieces(&self) -> impl Iterator<Item = (Ns, Ns, usize)> + '_ {
        self.pieces.iter().copied()
    }

    /// Assigns what is free in `[from, to)` to `reason`.
    pub fn claim(&mut self, from: Ns, to: Ns, reason: Reason) {
        let lost = self.open_within(from, to);
        if lost == 0 {
            return;
        }
        let taken = self.free.iter().map(|(start, end)| ((*start).max(from), (*end).min(to)));
        let claim = self.claimed.len();
        let before = self.pieces.len();
        self.pieces.extend(taken.filter(|(start, end)| start < end).map(|(start, end)| (start, end, claim)));
        let (first, last) = self.pieces[before..]
            .iter()
            .fold((Ns::MAX, Ns::MIN), |(first, last), (start, end, _)| (first.min(*start), last.max(*end)));
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
