//! Differences between traces of the same program before and after a change: accounts by cause and place (`accounts.rs`),
//! findings (`findings.rs`) and steps (`steps.rs`). `amount.rs` compares one figure of several traces a side.

mod accounts;
mod amount;
mod findings;
mod record_kinds;
mod sides;
mod steps;

pub use accounts::{AccountChange, GpuChange, Rates, Row, Subject, ThreadsChange};
pub use amount::{Amount, Change};
pub use findings::{FindingChange, FindingState};
pub use record_kinds::{Lack, RecordKind, Side, record_kinds};
pub use sides::Run;
pub use steps::StepsChange;

use crate::gate::{self, Figures, Gate, Judgement};
use serde::Serialize;
use sides::Sides;
use trace::Ns;

/// The difference between the traces of two sides.
///
/// An amount is the median of its side. With one trace a side the changes of an account's rows add up to the change of its
/// span, to the nanosecond.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// Records that one side lacks, and the other has.
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
    /// The gates, if some are judged.
    pub gate: Option<Judgement>,
}

/// Figures that are judged, and the limit of the time.
#[derive(Clone, Copy, Default)]
pub struct Limits<'a> {
    /// Counts, and shares within one run: by limits of our own. Needs [`Run::figures`].
    pub counts: bool,
    /// The smallest time beyond the limit of the median step, or, without common steps, of the program, ns: from the time
    /// before, and whether it is a step's.
    pub time: Option<&'a dyn Fn(Ns, bool) -> Ns>,
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

/// Compares the traces of two sides, of which each has at least one, and judges the difference.
pub fn diff(before: &[Run], after: &[Run], limits: Limits<'_>) -> Diff {
    let sides = Sides { before, after };
    let wall = sides.change(Run::wall_ns);
    let lacks = sides::lacks(&sides);
    let has_places = !lacks.iter().any(|lack| lack.what == RecordKind::Stacks);
    // What is a thousandth of the whole is small, even for a thread that lived shortly.
    let noise = wall.larger_ns() / 1000;
    let steps = steps::steps(&sides);
    Diff {
        gate: judgement(&sides, &lacks, (&wall, steps.as_ref()), limits),
        lacks,
        steps,
        gpus: accounts::gpus(&sides, noise),
        threads: accounts::threads(&sides, noise),
        findings: findings::findings(&sides, wall.larger_ns(), has_places),
        wall,
    }
}

/// The gates that are judged.
fn judgement(
    sides: &Sides<'_>,
    lacks: &[Lack],
    (wall, steps): (&Change, Option<&StepsChange>),
    limits: Limits<'_>,
) -> Option<Judgement> {
    let [before, after] = sides.map(|run| run.figures.as_ref());
    let [before, after]: [Vec<&Figures>; 2] =
        [before, after].map(|side| side.into_iter().flatten().collect());
    let mut gates: Vec<Gate> = Vec::new();
    let same_gpus = gate::same_gpus(sides.all().map(|run| &run.explanation));
    if let Some(limit) = limits.time {
        let judged = steps.map_or(wall, |steps| &steps.median);
        gates.push(gate::time(judged, limit(judged.before.ns, steps.is_some()), same_gpus));
    }
    if !limits.counts || before.is_empty() || after.is_empty() {
        return limits.time.map(|_| Judgement::of(None, gates));
    }
    let source = |run: &'_ Run| run.explanation.trace.source.clone();
    let first = sides.all().next().map(source);
    let alike = gate::Alike {
        tool: sides.all().all(|run| Some(source(run)) == first),
        gpus: same_gpus,
        causes: sides.all().all(|run| run.explanation.accounts.refused.is_none()),
    };
    let judgement = gate::gate(&before, &after, lacks, &alike);
    gates.splice(0..0, judgement.gates);
    Some(Judgement::of(judgement.steps, gates))
}
