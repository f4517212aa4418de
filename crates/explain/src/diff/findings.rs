//! Findings by cause, call and place: which are new, gone, larger or smaller.

use super::amount::{Amount, Change};
use super::sides::Sides;
use crate::{Cause, Explanation, Place};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use trace::Ns;
use waits::named;

named! {
    /// State of a finding after the change, compared with before.
    FindingState {
        /// No trace before has it.
        New = "new",
        /// No trace after has it.
        Gone = "gone",
        /// It lost more.
        Grown = "grown",
        /// It lost less.
        Shrunk = "shrunk",
        /// It lost as much.
        Same = "same",
    }
}

/// Findings of one cause, call and function of both sides.
#[derive(Clone, Debug, Serialize)]
pub struct FindingChange {
    /// The cause.
    pub cause: Cause,
    /// The call; empty for waits outside calls.
    pub call: String,
    /// Where most of the calls were made, after the change if it is there; `None` if unknown.
    #[serde(rename = "where")]
    pub place: Option<Place>,
    /// State after the change, compared with before.
    pub state: FindingState,
    /// The time that it lost.
    #[serde(flatten)]
    pub change: Change,
    /// Whether the change is within the spread, or less than a hundredth of the selected time.
    pub noise: bool,
}

/// The cause, the call, and the file and function: lines move.
type Key = (Cause, String, Option<(String, String)>);

/// The time that the findings of each key lost in one trace, and where.
type Lost = BTreeMap<Key, (Ns, Option<Place>)>;

/// The findings; `by_place` if both sides have places.
pub(super) fn findings(sides: &Sides<'_>, wall: Ns, by_place: bool) -> Vec<FindingChange> {
    let traces = sides.map(|run| lost(&run.explanation, by_place));
    let keys: BTreeSet<&Key> = traces.iter().flatten().flat_map(BTreeMap::keys).collect();
    let finding = |key: &Key| {
        let lost = |side: &Vec<Lost>| {
            Amount::of(side.iter().map(|of| of.get(key).map_or(0, |(lost, _)| *lost)).collect())
        };
        let has = |side: &Vec<Lost>| side.iter().any(|of| of.contains_key(key));
        let change = Change::new(lost(&traces[0]), lost(&traces[1]));
        let state = match (has(&traces[0]), has(&traces[1]), change.change_ns) {
            (false, _, _) => FindingState::New,
            (_, false, _) => FindingState::Gone,
            (_, _, 1..) => FindingState::Grown,
            (_, _, ..0) => FindingState::Shrunk,
            (_, _, 0) => FindingState::Same,
        };
        let place = traces.iter().rev().flatten().find_map(|of| of.get(key)?.1.clone());
        let (cause, call, _) = key.clone();
        FindingChange { cause, call, place, state, change, noise: change.is_noise(wall) }
    };
    let mut findings: Vec<FindingChange> = keys.into_iter().map(finding).collect();
    findings.sort_by_key(|finding| Reverse(finding.change.change_ns.abs()));
    findings
}

fn lost(explanation: &Explanation, by_place: bool) -> Lost {
    let mut lost = Lost::new();
    for finding in &explanation.findings {
        let place = finding.places.first();
        let function = place.filter(|_| by_place).map(|place| (place.file.clone(), place.function.clone()));
        let sum = lost.entry((finding.cause, finding.waiter.call.clone(), function)).or_default();
        sum.0 += finding.lost_ns;
        sum.1 = sum.1.take().or_else(|| place.cloned());
    }
    lost
}
