//! The description of a cause; the rule that finds it is in `rules/`.

use crate::grounds::Grounds;
use crate::{Cause, Evidence, Fix, Sentence};
use serde::{Serialize, Serializer};

/// The description of a cause. Each file in `rules/` declares one.
pub struct About {
    /// Name in every output: `driver-lock`.
    pub id: &'static str,
    /// The meaning, in one line.
    pub meaning: &'static str,
    /// Whether such time is lost.
    pub nature: Nature,
    /// The evidence that its findings may rest on, the strongest first.
    pub evidence: &'static [Evidence],
    /// Every fix that its findings may offer.
    pub fixes: &'static [Fix],
    /// Words the evidence, the mechanism and the fixes of one finding.
    pub(crate) state: fn(&Grounds<'_>) -> Statement,
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

/// The words of one finding.
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
