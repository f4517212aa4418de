//! `object-churn`: contexts, modules, streams, events, graphs and mappings of memory are made and destroyed again and again.

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::{Fact, Parts, Reason};
use crate::facts::Facts;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::KEPT_OBJECT;
use crate::{Cause, Confidence, Evidence, Piece, Sentence};
use trace::CallId;

pub(super) static ABOUT: About = About {
    meaning: "contexts, modules, streams, events, graphs or mappings of memory are made and destroyed again and again",
    brief: "objects of the driver are made and destroyed again and again",
    bound: Bound::Driver,
    family: Family::Setup,
    nature: Nature::Lost,
    evidence: &[Evidence::Record],
    fixes: &[KEPT_OBJECT],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    Statement {
        because: because(grounds),
        why: "the driver sets an object up when it is made, and takes it apart when it is destroyed",
        fixes: vec![KEPT_OBJECT],
    }
}

fn because(grounds: &Grounds<'_>) -> Sentence {
    let churn = grounds.waiting_calls().find_map(|call| grounds.facts.churn(call));
    let Some(churn) = churn else { return sentence!["each was made again after one was destroyed"] };
    sentence![
        if grounds.facts.makes_processes() { "processes made " } else { "the process made " },
        Piece::Number(churn.made),
        " of these objects and destroyed ",
        Piece::Number(churn.destroyed),
        ", one after another"
    ]
}

/// Claims calls that make or destroy objects of a kind that the process makes again and again. The first one may be a
/// first use.
pub(crate) fn of_object(facts: &Facts<'_>, call: CallId, parts: &mut Parts) {
    let is_new = facts.is_first_call(call) && !facts.is_nothing_new(call) && !facts.makes_processes();
    if facts.churn(call).is_some() && !is_new {
        let reason = Reason::new(Cause::ObjectChurn, Evidence::Record, Confidence::Certain, Fact::None);
        parts.claim(facts.start(call), facts.end(call), reason);
    }
}
