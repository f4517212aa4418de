//! `unexplained`: time that no rule explains.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Reason};
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::{Cause, Confidence, Evidence};

pub(super) static ABOUT: About = About {
    meaning: "time that no rule explains",
    brief: "no rule explains it",
    bound: Bound::Unknown,
    family: Family::Unknown,
    nature: Nature::Unknown,
    evidence: &[],
    fixes: &[],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    // Short enough for a line of the first screen.
    let next = match grounds.facts.trace.meta.locks_watched {
        true => "time the call without recording, or in a C program",
        false => "try `holdup record`, or time the call in a C program",
    };
    Statement {
        because: sentence!["nothing recorded explains it; ", next],
        why: "no rule fits what the trace shows",
        fixes: Vec::new(),
    }
}

/// The reason for the time that is left when all rules have run.
pub(crate) fn rest() -> Reason {
    Reason::new(Cause::Unexplained, Evidence::Timing, Confidence::Certain, Fact::None)
}
