//! The description of a cause; the rule that finds it is in `rules/`.

use crate::analysis::grounds::Grounds;
use crate::{Evidence, Fix, Sentence};
use waits::named;

/// The description of a cause. Each file in `rules/` declares one.
pub struct About {
    /// The meaning, in one line.
    pub meaning: &'static str,
    /// Clause of a few words for a sentence about a GPU: `threads wait for Python's lock (GIL)`.
    pub brief: &'static str,
    /// Limit of a program that loses most of a GPU's time to this cause.
    pub bound: Bound,
    /// Family of similar causes, for the eye.
    pub family: Family,
    /// Whether such time is lost.
    pub nature: Nature,
    /// The evidence that its findings may rest on, the strongest first.
    pub evidence: &'static [Evidence],
    /// Every fix that its findings may offer.
    pub fixes: &'static [Fix],
    /// Words the evidence, the mechanism and the fixes of one finding.
    pub(crate) state: State,
}

/// How the findings of a cause are worded.
pub(crate) enum State {
    /// By what its rule found.
    Rule(fn(&Grounds<'_>) -> Statement),
    /// The account finds it: all of its findings have the same words, and may offer all of its fixes.
    Account {
        /// The evidence in words, one for each kind in [`About::evidence`].
        because: &'static [&'static str],
        /// The mechanism.
        why: &'static str,
    },
}

/// The kind of a finding's time, for the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nature {
    /// Lost: without it the program would be faster.
    Lost,
    /// The program asked to wait.
    Asked,
    /// The cause is unknown.
    Unknown,
}

named! {
    /// Limit of a program: where most of its GPUs' time goes.
    Bound {
        /// The GPU's own work: kernels.
        Gpu = "gpu",
        /// The host's threads.
        Host = "host",
        /// The driver: its locks and queues, and what its calls do at once.
        Driver = "driver",
        /// Copies.
        Copies = "copies",
        /// Work that happens once: the start and first uses.
        StartUp = "start-up",
        /// There is no work to do.
        NoDemand = "no-demand",
        /// The trace does not say.
        Unknown = "unknown",
    }
}

named! {
    /// Family of similar causes, for the eye: outputs that draw give each family one color and one pattern.
    Family {
        /// Locks of the driver, of the program and of an interpreter.
        Lock = "lock",
        /// Copies and memory that delay others.
        Memory = "memory",
        /// Waits for the GPU, on the host or of operations.
        Sync = "sync",
        /// Work that happens once: start, loading, allocation.
        Setup = "setup",
        /// The program's own code.
        Host = "host",
        /// CUDA calls that nothing delays.
        Calls = "calls",
        /// Threads without work or without a processor.
        Asleep = "asleep",
        /// Nothing that the trace recorded.
        Unknown = "unknown",
    }
}

/// The words of one finding.
pub(crate) struct Statement {
    /// The evidence with its figures.
    pub because: Sentence,
    /// The mechanism.
    pub why: &'static str,
    /// Fixes, the best first.
    pub fixes: Vec<Fix>,
}

impl About {
    /// Whether the account finds it: no rule claims a part of a call for it.
    pub fn is_of_account(&self) -> bool {
        matches!(self.state, State::Account { .. })
    }

    /// The words of a finding that the account finds, with evidence of this kind.
    pub(crate) fn of_account(&self, evidence: Evidence) -> Statement {
        let (because, why) = match self.state {
            State::Account { because, why } => {
                let kind = self.evidence.iter().position(|known| *known == evidence);
                (because.get(kind.unwrap_or(0)).copied().unwrap_or_default(), why)
            }
            // Calls too short for the rule.
            State::Rule(_) => ("the sum of short calls", self.meaning),
        };
        Statement { because: crate::result::sentence::sentence![because], why, fixes: self.fixes.to_vec() }
    }

    /// The words of one finding.
    pub(crate) fn state<'a>(&self, grounds: impl FnOnce() -> Grounds<'a>) -> Statement {
        match self.state {
            State::Rule(state) => state(&grounds()),
            State::Account { .. } => self.of_account(self.usual_evidence()),
        }
    }

    /// The strongest evidence that its findings may rest on.
    pub(crate) fn usual_evidence(&self) -> Evidence {
        self.evidence.first().copied().unwrap_or(Evidence::Timing)
    }

    /// Evidence of the activity of threads outside calls, in a trace of this tool: our own samples, else the tool's records.
    pub(crate) fn evidence_in(&self, source: &str) -> Evidence {
        let usual = self.usual_evidence();
        let is_recorded = usual == Evidence::Sample && self.evidence.contains(&Evidence::Record);
        if is_recorded && source != "holdup" { Evidence::Record } else { usual }
    }
}
