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
    let next = match grounds.facts.trace.meta.locks_watched {
        true => "the same call in a C program, and timed without the recorder, shows whose time it is",
        false => {
            "`holdup record` would show locks within the driver; the same call in a C program, timed without a profiler, shows whose \
             time it is"
        }
    };
    Statement {
        because: sentence!["no record and no overlap in time explains it; ", next],
        why: "no rule fits what the trace shows",
        fixes: Vec::new(),
    }
}

/// The reason for the time that is left when all rules have run.
pub(crate) fn rest() -> Reason {
    Reason::new(Cause::Unexplained, Evidence::Timing, Confidence::Certain, Fact::None)
}
