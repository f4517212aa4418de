//! Traces of both sides of a comparison.

use super::amount::{Amount, Change};
use super::record_kinds::{Lack, RecordKind, Side};
use crate::Explanation;
use crate::gate::Figures;
use trace::Ns;

/// A trace that is compared.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its explanation.
    pub explanation: Explanation,
    /// Kinds of records that it has.
    pub kept: Vec<RecordKind>,
    /// Figures that a gate judges; `None` if nothing is judged.
    pub figures: Option<Figures>,
}

impl Run {
    /// Its selected time, ns.
    pub(super) fn wall_ns(&self) -> Ns {
        let trace = &self.explanation.trace;
        trace.selected_ns.unwrap_or(trace.duration_ns)
    }
}

/// The traces of both sides.
pub(super) struct Sides<'a> {
    pub before: &'a [Run],
    pub after: &'a [Run],
}

impl<'a> Sides<'a> {
    pub fn all(&self) -> impl Iterator<Item = &'a Run> {
        self.before.iter().chain(self.after)
    }

    /// How a figure changed.
    pub fn change(&self, of: impl Fn(&Run) -> Ns) -> Change {
        let amount = |runs: &[Run]| Amount::of(runs.iter().map(&of).collect());
        Change::new(amount(self.before), amount(self.after))
    }

    /// Something of each trace of each side.
    pub fn map<T>(&self, of: impl Fn(&'a Run) -> T) -> [Vec<T>; 2] {
        [self.before, self.after].map(|runs| runs.iter().map(&of).collect())
    }
}

/// Kinds of records that no trace of one side has, and some trace of the other one.
pub(super) fn lacks(sides: &Sides<'_>) -> Vec<Lack> {
    let has = |run: &Run, kept: RecordKind| {
        run.kept.contains(&kept)
            && (kept != RecordKind::IdleCauses || run.explanation.accounts.refused.is_none())
    };
    let mut lacks = Vec::new();
    for what in RecordKind::ALL.iter().copied() {
        let [before, after] = [sides.before, sides.after].map(|runs| runs.iter().any(|run| has(run, what)));
        match (before, after) {
            (true, false) => lacks.push(Lack { side: Side::After, what }),
            (false, true) => lacks.push(Lack { side: Side::Before, what }),
            (true, true) | (false, false) => {}
        }
    }
    lacks
}
