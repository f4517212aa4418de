//! What holdup knows of a cause, beside the rule that finds it.

use crate::grounds::Grounds;
use crate::{Cause, Evidence, Fix, Sentence};
use serde::{Serialize, Serializer};

/// All that is known of a cause. Each file in `rules/` declares one.
pub struct About {
    /// Name in every output: `driver-lock`.
    pub id: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// Whether such time is lost.
    pub nature: Nature,
    /// What its findings may rest on, the strongest first.
    pub evidence: &'static [Evidence],
    /// Every fix that its findings may offer.
    pub fixes: &'static [Fix],
    /// Says why one finding holds, and what helps.
    pub(crate) state: fn(&Grounds<'_>) -> Statement,
}

/// What a thread's time in a finding was to the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nature {
    /// Lost: the program gains from an end of it.
    Lost,
    /// The program asked to wait.
    Asked,
    /// Nobody knows why the time went.
    Unknown,
}

/// Why a finding holds, and what helps.
pub(crate) struct Statement {
    /// The evidence with its figures.
    pub because: Sentence,
    /// The mechanism.
    pub why: &'static str,
    /// Fixes, the best first.
    pub fixes: Vec<Fix>,
}

impl Cause {
    /// The name in every output: `driver-lock`.
    pub fn id(self) -> &'static str {
        self.about().id
    }

    /// The cause of this name.
    pub fn named(id: &str) -> Option<Cause> {
        Cause::ALL.iter().copied().find(|cause| cause.id() == id)
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
