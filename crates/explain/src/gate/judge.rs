//! The limits, and what is beyond them.

use super::figures::{Figures, Measured, Shares, Site, Sum, Unit};
use super::grown::{grown, mean};
use super::{Counted, CountedSteps, Doubt, Gate, GateState, GateUnit, Judgement, Kind, Level, Red};
use crate::diff::{Amount, Change, Lack, RecordKind};
use crate::{Cause, Explanation};
use std::collections::BTreeSet;
use trace::Ns;

/// A number may grow by a tenth, and by so many for each step, or launch: the numbers of a program that does the same are the same,
/// and what comes less often than every tenth step is an exception. Choices; `benches/gate` measures them.
const MORE_COUNTED: f64 = 0.1;
const MORE_PER_STEP: f64 = 0.1;
const MORE_PER_LAUNCH: f64 = 0.002;
/// The idle part of the GPU's time may grow by so much of this time, and by a fifth of what it was, but a tenth of this time at most.
/// Choices.
const MORE_IDLE: f64 = 0.03;
const MORE_IDLE_OF_ALL: f64 = 0.05;
const MORE_SHARE: f64 = 0.2;
const MOST_MORE_SHARE: f64 = 0.1;
/// The part in which it is held back, which is an estimate, may grow by so much. A choice.
const MORE_HELD_BACK: f64 = 0.1;
/// Idle time that is less than this is no matter: ns in a step, ns in a program without steps. Choices.
const LEAST_IDLE_STEP_NS: f64 = 10_000.0;
const LEAST_IDLE_NS: f64 = 5_000_000.0;
/// First uses after the warm-up may take so long together, ns, and so much of a median step. Choices.
const LEAST_FIRST_USE_NS: f64 = 1_000_000.0;
const LEAST_FIRST_USE_STEP: f64 = 0.25;
/// Most places that one gate names.
const MOST_REDS: usize = 3;

/// Properties that are the same in all traces.
pub(crate) struct Alike {
    /// The tool that recorded them.
    pub tool: bool,
    /// The GPUs' names.
    pub gpus: bool,
    /// Whether the causes of idle time are known.
    pub causes: bool,
}

/// Judges the traces of two sides, of which each has at least one. `lacks` is what one side has no records of.
pub(crate) fn gate(before: &[&Figures], after: &[&Figures], lacks: &[Lack], alike: &Alike) -> Judgement {
    let all = || before.iter().chain(after);
    let first = all().next().and_then(|figures| figures.unit());
    let by_step = first.is_some() && all().all(|figures| figures.unit() == first);
    let side = |side: &[&Figures]| -> Vec<Measured> {
        side.iter().map(|figures| figures.measured(by_step).clone()).collect()
    };
    let lacks_ops =
        lacks.iter().any(|lack| matches!(lack.what, RecordKind::Operations | RecordKind::IdleCauses));
    let sides = Sides {
        by_step,
        other_steps: !by_step && all().any(|figures| figures.unit().is_some()),
        counts_doubt: (!alike.tool || lacks_ops).then_some(Doubt::OtherRecords),
        idle_doubt: match (alike.causes, alike.gpus) {
            (false, _) => Some(Doubt::Refused),
            (true, false) => Some(Doubt::OtherGpu),
            (true, true) => None,
        },
        before: side(before),
        after: side(after),
    };
    let mut gates: Vec<Gate> = Counted::ALL.iter().filter_map(|kind| sides.count(*kind)).collect();
    gates.extend(sides.first_uses());
    gates.extend([sides.idle(), sides.held_back()]);
    let steps = match first.filter(|_| by_step) {
        Some(Unit::Steps(source, name)) => Some(CountedSteps { name: name.clone(), source: *source }),
        _ => None,
    };
    Judgement::of(steps, gates)
}

/// Judges a time by the smallest one beyond the user's limit, ns. Times of different GPUs are not compared.
pub(crate) fn time(change: &Change, limit_ns: Ns, same_gpu: bool) -> Gate {
    let level = |amount: Amount| {
        let [median, least, most] = [amount.ns, amount.least_ns, amount.most_ns].map(|ns| ns as f64);
        Level { median, least, most }
    };
    let levels = (level(change.before), level(change.after));
    let doubt = (!same_gpu).then_some(Doubt::OtherGpu);
    decided(Kind::Time, GateUnit::Ns, levels, limit_ns as f64, doubt, Vec::new)
}

/// Whether all traces were recorded on GPUs of the same names.
pub(crate) fn same_gpus<'a>(mut traces: impl Iterator<Item = &'a Explanation>) -> bool {
    let names =
        |of: &Explanation| -> Vec<String> { of.accounts.gpus.iter().map(|gpu| gpu.name.clone()).collect() };
    let first = traces.next().map(names);
    traces.all(|of| Some(names(of)) == first)
}

struct Sides {
    by_step: bool,
    other_steps: bool,
    counts_doubt: Option<Doubt>,
    idle_doubt: Option<Doubt>,
    before: Vec<Measured>,
    after: Vec<Measured>,
}

impl Sides {
    fn level(&self, of: impl Fn(&Measured) -> f64) -> (Level, Level) {
        let level = |side: &[Measured]| Level::of(side.iter().map(&of).collect());
        (level(&self.before), level(&self.after))
    }

    /// How much more each site has of something, most first.
    fn grown(&self, of: impl Fn(&Measured) -> Option<&Sum>) -> Vec<(Site, f64)> {
        let mean = |side: &[Measured]| mean(side.iter().map(|measured| of(measured).map(|sum| &sum.sites)));
        grown(&mean(&self.before), &mean(&self.after))
    }

    /// The gate of a number; `None` for launches without steps: they are the unit.
    fn count(&self, kind: Counted) -> Option<Gate> {
        if kind == Counted::Launches && !self.by_step {
            return None;
        }
        let (unit, least) = match self.by_step {
            true => (GateUnit::PerStep, MORE_PER_STEP),
            false => (GateUnit::PerLaunch, MORE_PER_LAUNCH),
        };
        let (before, after) = self.level(|of| of.counts.get(&kind).map_or(0.0, |sum| sum.total));
        let limit = before.median + least.max(MORE_COUNTED * before.median);
        let reds = || {
            let grown = self.grown(|of| of.counts.get(&kind));
            let enough = (limit - before.median) / 2.0;
            let grown = with_places(grown);
            let mut reds: Vec<Red> =
                grown.into_iter().map(|(site, more)| self.red(kind, site, more)).collect();
            let rest = reds.iter().skip(1).take_while(|red| red.more >= enough).count();
            reds.truncate((1 + rest).min(MOST_REDS));
            reds
        };
        Some(decided(Kind::Count(kind), unit, (before, after), limit, self.counts_doubt, reds))
    }

    fn red(&self, kind: Counted, site: Site, more: f64) -> Red {
        let known = self.after.iter().find_map(|measured| measured.causes.get(&site)).copied();
        let is_release = site.call.contains("Free") || site.call.contains("Unregister");
        let usual = match kind {
            Counted::Synchronizations => Cause::ExplicitSync,
            Counted::PageableCopies => Cause::PageableStaging,
            Counted::Allocations if is_release => Cause::ImplicitDeviceSync,
            Counted::Allocations => Cause::Allocation,
            Counted::Copies | Counted::Launches => Cause::OwnWork,
        };
        let cause = known.filter(|cause| *cause != Cause::Unexplained).unwrap_or(usual);
        Red { cause, place: site.place, call: site.call, more }
    }

    /// First uses after the warm-up, at places where there was none before.
    /// `None` without steps: a start cannot be told from what comes later.
    fn first_uses(&self) -> Option<Gate> {
        if !self.by_step && !self.other_steps {
            return None;
        }
        let (before, after) = self.level(|of| of.first_uses.total);
        let step = Level::of(self.after.iter().map(|of| of.median_ns).collect()).median;
        let limit = before.median + LEAST_FIRST_USE_NS.max(LEAST_FIRST_USE_STEP * step);
        let grown = self.grown(|of| Some(&of.first_uses));
        let new: f64 = grown.iter().map(|(_, more)| more).sum();
        let doubt = if self.by_step { None } else { Some(Doubt::OtherSteps) };
        let judged = if new < limit - before.median { (before, before) } else { (before, after) };
        let reds = || {
            let red = |(site, more): (Site, f64)| Red {
                cause: Cause::FirstUse,
                place: site.place,
                call: site.call,
                more,
            };
            grown.into_iter().take(1).map(red).collect()
        };
        let mut gate = decided(Kind::FirstUses, GateUnit::Ns, judged, limit, doubt, reds);
        gate.after = after;
        Some(gate)
    }

    fn idle(&self) -> Gate {
        let (more, least) = match self.by_step {
            true => (MORE_IDLE, LEAST_IDLE_STEP_NS),
            false => (MORE_IDLE_OF_ALL, LEAST_IDLE_NS),
        };
        self.share(Kind::GpuIdle, (more, least), |of| &of.idle)
    }

    fn held_back(&self) -> Gate {
        self.share(Kind::GpuHeldBack, (MORE_HELD_BACK, LEAST_IDLE_NS), |of| &of.held_back)
    }

    /// The gate of a part of the GPU's time, which may grow by `more` of it; what is less than `least` ns is no matter.
    fn share(&self, kind: Kind, (more, least): (f64, f64), of: impl Fn(&Measured) -> &Shares) -> Gate {
        let (before, after) = self.level(|measured| of(measured).share);
        let (time_before, time_after) = self.level(|measured| of(measured).ns);
        let limit = before.median + more.max((MORE_SHARE * before.median).min(MOST_MORE_SHARE));
        let is_small = time_after.median - time_before.median < least;
        let judged = if is_small { (before, before) } else { (before, after) };
        let doubt = self.counts_doubt.or(self.idle_doubt);
        let mut gate =
            decided(kind, GateUnit::Share, judged, limit, doubt, || self.of_causes(more / 2.0, &of));
        gate.after = after;
        gate
    }

    /// The causes of which there is more, each at the place that grew most.
    fn of_causes(&self, enough: f64, of: &impl Fn(&Measured) -> &Shares) -> Vec<Red> {
        let causes: BTreeSet<Cause> =
            self.after.iter().flat_map(|measured| of(measured).causes.keys().copied()).collect();
        let of_cause = |cause: Cause| {
            let total = |measured: &Measured| of(measured).causes.get(&cause).map_or(0.0, |sum| sum.total);
            let (before, after) = self.level(total);
            let more = after.median - before.median;
            let site = self.grown(|measured| of(measured).causes.get(&cause)).into_iter().next();
            let (place, call) = site.map_or((None, String::new()), |(site, _)| (site.place, site.call));
            Red { cause, place, call, more }
        };
        let mut reds: Vec<Red> = causes.into_iter().map(of_cause).filter(|red| red.more > 0.0).collect();
        reds.sort_by(|one, other| other.more.total_cmp(&one.more));
        let rest = reds.iter().skip(1).take_while(|red| red.more >= enough).count();
        reds.truncate((1 + rest).min(MOST_REDS));
        reds
    }
}

/// Adds what has no place to the largest growth of the same call at a place: only stacks of slow calls are recorded.
fn with_places(grown: Vec<(Site, f64)>) -> Vec<(Site, f64)> {
    let (mut placed, alone): (Vec<_>, Vec<_>) = grown.into_iter().partition(|(site, _)| site.place.is_some());
    for (site, more) in alone {
        match placed.iter_mut().find(|(other, _)| other.place.is_some() && other.call == site.call) {
            Some((_, sum)) => *sum += more,
            None => placed.push((site, more)),
        }
    }
    placed.sort_by(|one, other| other.1.total_cmp(&one.1));
    placed
}

/// A gate whose figures are judged; `reds` are asked for if it is exceeded.
fn decided(
    gate: Kind,
    unit: GateUnit,
    (before, after): (Level, Level),
    limit: f64,
    doubt: Option<Doubt>,
    reds: impl FnOnce() -> Vec<Red>,
) -> Gate {
    let is_beyond = after.median >= limit && after.median > before.median;
    let doubt = match (doubt, is_beyond) {
        (Some(doubt), _) => Some(doubt),
        (None, true) if before.most >= after.least => Some(Doubt::Spread),
        (None, _) => None,
    };
    let state = match (doubt, is_beyond) {
        (Some(_), _) => GateState::Inconclusive,
        (None, true) => GateState::Exceeded,
        (None, false) => GateState::Passed,
    };
    let reds = if state == GateState::Exceeded { reds() } else { Vec::new() };
    Gate { gate, unit, before, after, limit, state, doubt, reds }
}
