//! Steps of both sides, if all traces have the same.

use super::accounts::{self, AccountChange, Rows, Subject};
use super::amount::Change;
use super::sides::{Run, Sides};
use crate::{StepSource, Steps};
use serde::Serialize;
use trace::Ns;

/// Steps of both sides.
#[derive(Clone, Debug, Serialize)]
pub struct StepsChange {
    /// Their name.
    pub name: String,
    /// Records that show where they begin.
    pub source: StepSource,
    /// Number of steps of all traces before.
    pub before_count: u64,
    /// Number of steps of all traces after.
    pub after_count: u64,
    /// The duration of the median step.
    pub median: Change,
    /// The mean step: all steps together, divided by their number. Its rows add up as those of other accounts.
    #[serde(flatten)]
    pub account: AccountChange,
}

pub(super) fn steps(sides: &Sides<'_>) -> Option<StepsChange> {
    let of = |run: &'_ Run| run.explanation.steps.clone();
    let all: Vec<Steps> = sides.all().map(of).collect::<Option<_>>()?;
    let first = all.first()?;
    if all.iter().any(|steps| (steps.source, &steps.name) != (first.source, &first.name)) {
        return None;
    }
    let count = |runs: &[Run]| runs.iter().filter_map(of).map(|steps| steps.count).sum();
    let refused = sides.all().any(|run| run.explanation.accounts.refused.is_some());
    let mean =
        |run: &'_ Run| run.explanation.steps.as_ref().map_or(Rows::new(), |steps| mean(steps, refused));
    Some(StepsChange {
        name: first.name.clone(),
        source: first.source,
        before_count: count(sides.before),
        after_count: count(sides.after),
        median: sides.change(|run| run.explanation.steps.as_ref().map_or(0, |steps| steps.median_ns)),
        account: accounts::account(sides.map(mean), 0),
    })
}

/// The rows of the mean step. Each sum of rows is rounded, and not each row, so that they add up to the mean.
fn mean(steps: &Steps, refused: bool) -> Rows {
    let total = &steps.total;
    let mut rows = match refused {
        true => vec![(Subject::Idle, None, String::new(), total.duration_ns - total.busy_ns)],
        false => accounts::rows(&total.idle),
    };
    rows.push((Subject::Busy, None, String::new(), total.busy_ns));
    let count = Ns::try_from(steps.count).unwrap_or(Ns::MAX).max(1);
    let mut sum = 0;
    for row in &mut rows {
        let before = sum / count;
        sum += row.3;
        row.3 = sum / count - before;
    }
    rows.retain(|row| row.3 != 0);
    rows
}
