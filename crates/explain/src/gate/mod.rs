//! Whether a change made a program worse, by what does not depend on the speed of a machine: counts for each step, and shares of
//! the GPU's time within one run. `figures.rs` has those of one trace, `grown.rs` the place that has more, `judge.rs` the limits.

mod figures;
mod grown;
mod judge;

pub use figures::Figures;
pub(crate) use judge::{Alike, gate, same_gpus, time};

use crate::{Cause, Place, StepSource};
use serde::Serialize;
use waits::named;

named! {
    /// Kind of calls or copies that is counted.
    Counted {
        /// Calls that wait for the GPU: synchronizations, and copies whose name has no `Async`.
        Synchronizations = "synchronizations",
        /// Copies from or into pageable host memory.
        PageableCopies = "pageable-copies",
        /// Copies between host and device.
        Copies = "copies",
        /// Calls that allocate, pin, free or unpin memory, or unload code.
        Allocations = "allocations",
        /// Calls that launch a kernel or a graph.
        Launches = "launches",
    }
}

/// Kind of figure that a gate judges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A number for each step, or for each launch.
    Count(Counted),
    /// Calls that set something up after the first steps.
    FirstUses,
    /// The idle part of the GPU's time.
    GpuIdle,
    /// The part in which a GPU had room, and something that was ready, or a call, waited.
    GpuHeldBack,
    /// The time of a step, or of the program: only with a limit that the user states.
    Time,
}

impl Kind {
    /// The name in every output.
    pub fn id(self) -> &'static str {
        match self {
            Kind::Count(counted) => counted.id(),
            Kind::FirstUses => "first-uses",
            Kind::GpuIdle => "gpu-idle",
            Kind::GpuHeldBack => "gpu-held-back",
            Kind::Time => "time",
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

named! {
    /// How a gate ended.
    GateState {
        /// Within its limit.
        Passed = "passed",
        /// Beyond its limit.
        Exceeded = "exceeded",
        /// The traces do not allow to judge it.
        Inconclusive = "inconclusive",
    }
}

named! {
    /// Why a gate is inconclusive.
    Doubt {
        /// The medians are beyond the limit, and the ranges of both sides overlap.
        Spread = "spread",
        /// The sides were recorded on different GPUs.
        OtherGpu = "other-gpu",
        /// The sides were recorded by different tools, or with different records.
        OtherRecords = "other-records",
        /// Records were lost, or the clocks of host and GPU do not fit.
        Refused = "refused",
        /// Only one side has steps, or their steps differ: numbers are for each launch, and the launches themselves not judged.
        OtherSteps = "other-steps",
    }
}

/// A figure of the traces of a side.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Level {
    /// The median.
    pub median: f64,
    /// The least of all traces.
    pub least: f64,
    /// The most of all traces.
    pub most: f64,
}

impl Level {
    pub(crate) fn of(mut figures: Vec<f64>) -> Level {
        figures.sort_unstable_by(f64::total_cmp);
        let (Some(least), Some(most)) = (figures.first().copied(), figures.last().copied()) else {
            return Level::default();
        };
        let median = f64::midpoint(figures[(figures.len() - 1) / 2], figures[figures.len() / 2]);
        Level { median, least, most }
    }
}

/// Excess that a gate found beyond its limit, at a place.
#[derive(Clone, Debug, Serialize)]
pub struct Red {
    /// The cause: the rule's name in SARIF.
    pub cause: Cause,
    /// Where; `None` if unknown.
    #[serde(rename = "where")]
    pub place: Option<Place>,
    /// The call; empty if none is known.
    pub call: String,
    /// How much more than before is there, in the gate's unit.
    pub more: f64,
}

/// One judged figure.
#[derive(Clone, Debug, Serialize)]
pub struct Gate {
    /// Kind of the judged figure.
    pub gate: Kind,
    /// Its unit: a number for each step or launch, a part of 1, or ns.
    pub unit: GateUnit,
    /// Before.
    pub before: Level,
    /// After.
    pub after: Level,
    /// The smallest figure beyond the limit.
    pub limit: f64,
    /// How it ended.
    pub state: GateState,
    /// Why it is inconclusive.
    pub doubt: Option<Doubt>,
    /// Excesses beyond the limit, most first; empty unless `state` is exceeded.
    pub reds: Vec<Red>,
}

named! {
    /// Unit of a gate's figures.
    GateUnit {
        /// A number for each step.
        PerStep = "per-step",
        /// A number for each launch of a kernel or a graph.
        PerLaunch = "per-launch",
        /// A part of the GPU's time, 0 to 1.
        Share = "share",
        /// A duration, ns.
        Ns = "ns",
    }
}

/// All gates of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// Exceeded if a gate is; else inconclusive if a gate is; else passed.
    pub state: GateState,
    /// The steps that are counted; `None` if launches are.
    pub steps: Option<CountedSteps>,
    /// Each gate.
    pub gates: Vec<Gate>,
}

/// The steps in which a gate counts.
#[derive(Clone, Debug, Serialize)]
pub struct CountedSteps {
    /// Their name.
    pub name: String,
    /// Records that show where they begin.
    pub source: StepSource,
}

impl Judgement {
    /// The judgement of some gates.
    pub fn of(steps: Option<CountedSteps>, gates: Vec<Gate>) -> Judgement {
        let has = |state| gates.iter().any(|gate| gate.state == state);
        let state = match (has(GateState::Exceeded), has(GateState::Inconclusive)) {
            (true, _) => GateState::Exceeded,
            (false, true) => GateState::Inconclusive,
            (false, false) => GateState::Passed,
        };
        Judgement { state, steps, gates }
    }
}
