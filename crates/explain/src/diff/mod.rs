//! What differs between traces of the same program before and after a change: accounts by cause and place (`accounts.rs`),
//! findings (`findings.rs`) and steps (`steps.rs`). `amount.rs` compares one figure of several traces a side.

mod accounts;
mod amount;
mod findings;
mod kept;
mod steps;

pub use accounts::{AccountChange, GpuChange, Row, ThreadsChange, What};
pub use amount::{Amount, Change};
pub use findings::{FindingChange, FindingState};
pub use kept::{Kept, Lack, Side, kept};
pub use steps::StepsChange;

use crate::Explanation;
use serde::Serialize;
use trace::Ns;

/// A trace that is compared.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its explanation.
    pub explanation: Explanation,
    /// What it has records of.
    pub kept: Vec<Kept>,
}

impl Run {
    /// Its selected time, ns.
    fn wall_ns(&self) -> Ns {
        let trace = &self.explanation.trace;
        trace.selected_ns.unwrap_or(trace.duration_ns)
    }
}

/// The difference between the traces of two sides.
///
/// An amount is the median of its side. With one trace a side the changes of an account's rows add up to the change of its
/// span, to the nanosecond.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// What one side has no records of, and the other has.
    pub lacks: Vec<Lack>,
    /// The selected time.
    pub wall: Change,
    /// The steps, if all traces have the same.
    pub steps: Option<StepsChange>,
    /// The GPUs of both sides, by device.
    pub gpus: Vec<GpuChange>,
    /// The threads of both sides by name and role, the largest change first.
    pub threads: Vec<ThreadsChange>,
    /// The findings of both sides by cause, call and place, the largest change first.
    pub findings: Vec<FindingChange>,
}

impl Diff {
    /// Whether some change is beyond the noise.
    pub fn has_changes(&self) -> bool {
        let rows = self.gpus.iter().map(|gpu| &gpu.account).chain(self.threads.iter().map(|of| &of.account));
        let rows = rows.chain(self.steps.iter().map(|steps| &steps.account));
        rows.flat_map(|account| &account.rows).any(|row| !row.noise)
            || self.findings.iter().any(|finding| !finding.noise)
            || !self.wall.is_noise(self.wall.larger_ns())
            || self.steps.as_ref().is_some_and(|steps| !steps.median.is_noise(steps.median.larger_ns()))
    }
}

/// Compares the traces of two sides, of which each has at least one.
pub fn diff(before: &[Run], after: &[Run]) -> Diff {
    let sides = Sides { before, after };
    let wall = sides.change(Run::wall_ns);
    let lacks = kept::lacks(&sides);
    let has_places = !lacks.iter().any(|lack| lack.what == Kept::Stacks);
    // What is a thousandth of the whole is small, even for a thread that lived shortly.
    let noise = wall.larger_ns() / 1000;
    Diff {
        lacks,
        steps: steps::steps(&sides),
        gpus: accounts::gpus(&sides, noise),
        threads: accounts::threads(&sides, noise),
        findings: findings::findings(&sides, wall.larger_ns(), has_places),
        wall,
    }
}

/// The traces of both sides.
struct Sides<'a> {
    before: &'a [Run],
    after: &'a [Run],
}

impl<'a> Sides<'a> {
    fn all(&self) -> impl Iterator<Item = &'a Run> {
        self.before.iter().chain(self.after)
    }

    /// How a figure changed.
    fn change(&self, of: impl Fn(&Run) -> Ns) -> Change {
        let amount = |runs: &[Run]| Amount::of(runs.iter().map(&of).collect());
        Change::new(amount(self.before), amount(self.after))
    }

    /// Something of each trace of each side.
    fn map<T>(&self, of: impl Fn(&'a Run) -> T) -> [Vec<T>; 2] {
        [self.before, self.after].map(|runs| runs.iter().map(&of).collect())
    }
}
