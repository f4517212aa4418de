//! The account of steps: the time of a GPU within each, by root cause, and what slow steps had more of than the median.

use super::blame::Blame;
use super::by_cause::{by_cause, charged};
use super::gaps::{Gap, Timeline};
use super::part::AccountPart;
use super::roots::{Charges, Path, Root, Row, StepRoots};
use super::settle;
use crate::steps::{Found, FoundStep, Outliers, StepSource};
use crate::{Cause, Place};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use trace::{DeviceId, Ns, ThreadId};

/// The steps of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Steps {
    /// The name of the ranges without their numbers (`ProfilerStep`), of the call that launches graphs, or of the kernel
    /// with which steps begin.
    pub name: String,
    /// Records that show where steps begin.
    pub source: StepSource,
    /// The process whose steps they are.
    pub pid: i64,
    /// The thread whose steps they are, or most of them.
    pub tid: i64,
    /// Number of threads that do such steps side by side.
    pub threads: u64,
    /// Whether they are requests: between them their threads wait for what comes from outside, or from other threads. That time is no
    /// part of them.
    pub requests: bool,
    /// The GPU that this process uses most; `None` without GPU operations.
    pub device: Option<i64>,
    /// Number of steps.
    pub count: u64,
    /// Number of steps before these, which the program needed to settle: some of them took much longer.
    pub warm_up: u64,
    /// The mean duration, ns.
    pub mean_ns: Ns,
    /// How many there are in a second, from the start of the first to the end of the last.
    pub per_second: f64,
    /// The duration of the median step, ns.
    pub median_ns: Ns,
    /// From the first quartile of the durations to the third, ns.
    pub spread_ns: Ns,
    /// The median step.
    pub median: StepTime,
    /// All steps together.
    pub total: StepTime,
    /// Slow steps, the longest first.
    pub slow: Vec<SlowStep>,
    /// All steps in order, for outputs that draw them; empty unless [`crate::explain_each`] made it.
    #[serde(skip)]
    pub each: Vec<OneStep>,
}

/// One of the steps.
#[derive(Clone, Debug)]
pub struct OneStep {
    /// The name of its range (`ProfilerStep#12`); empty if it is none.
    pub name: String,
    /// Its start, ns from the trace's start.
    pub start_ns: Ns,
    /// Its duration, ns.
    pub duration_ns: Ns,
    /// Time in it with any operation of the GPU, ns.
    pub busy_ns: Ns,
    /// The rest by cause, most first, as in [`StepTime::idle`].
    pub idle: Vec<(Cause, Ns)>,
}

/// The time of steps.
#[derive(Clone, Debug, Serialize)]
pub struct StepTime {
    /// Their duration, ns.
    pub duration_ns: Ns,
    /// Time in them with any operation of the GPU, ns.
    pub busy_ns: Ns,
    /// The rest: what the GPU waited for, by root cause, most first; without a GPU, what the thread did. With `busy_ns` it
    /// adds up to `duration_ns`.
    pub idle: Vec<AccountPart>,
}

/// A step that took much longer than most.
#[derive(Clone, Debug, Serialize)]
pub struct SlowStep {
    /// The name of its range (`ProfilerStep#12`); empty if it is none.
    pub name: String,
    /// Its start, ns from the trace's start.
    pub start_ns: Ns,
    /// Its duration, ns.
    pub duration_ns: Ns,
    /// How much longer than in the median step the GPU was busy, ns.
    pub busy_more_ns: Ns,
    /// Causes of which it had more time than the median step, most first; less is negative. With `busy_more_ns` they add up to
    /// the time that it took longer.
    pub more: Vec<AccountPart>,
}

/// The time of one step: its roots, and the rest, in which the GPU was busy.
#[derive(Default)]
struct Step {
    busy: Ns,
    idle: Vec<(Root, Ns)>,
}

impl Step {
    fn time(&self, blame: &Blame<'_>, found: &Found) -> StepTime {
        let idle: Ns = self.idle.iter().map(|(_, ns)| ns).sum();
        let (duration_ns, busy_ns) = (self.busy + idle, self.busy);
        StepTime { duration_ns, busy_ns, idle: parts(blame, found, &self.idle) }
    }

    /// The idle time of each cause, most first.
    fn causes(&self) -> Vec<(Cause, Ns)> {
        let mut causes = BTreeMap::<Cause, Ns>::new();
        self.idle.iter().for_each(|(root, ns)| *causes.entry(root.cause).or_default() += ns);
        let mut causes: Vec<_> = causes.into_iter().filter(|(_, ns)| *ns != 0).collect();
        causes.sort_by_key(|(cause, ns)| (std::cmp::Reverse(*ns), *cause));
        causes
    }

    /// Roots of which this step had more time than another one; less is negative.
    fn more(&self, usual: &Step) -> Vec<(Root, Ns)> {
        let less = usual.idle.iter().map(|(root, ns)| (*root, -ns));
        let mut more = sums(self.idle.iter().copied().chain(less));
        more.retain(|(_, ns)| *ns != 0);
        more
    }
}

/// Charged time by cause, most first. The name of a step is no place: that a place is in a step says nothing.
fn parts(blame: &Blame<'_>, found: &Found, charges: &[(Root, Ns)]) -> Vec<AccountPart> {
    let is_step = |place: &Place| place.file.is_empty() && found.is_one(blame.facts.trace, &place.function);
    let mut parts = by_cause(blame, charges);
    parts.retain(|part| part.ns != 0);
    for part in &mut parts {
        part.places.retain(|place| !is_step(place));
        part.spent
            .iter_mut()
            .for_each(|spent| spent.place = spent.place.take().filter(|place| !is_step(place)));
    }
    parts
}

/// The sum of each root, by root.
fn sums(rows: impl Iterator<Item = (Root, Ns)>) -> Vec<(Root, Ns)> {
    let mut sums = FxHashMap::<Root, Ns>::default();
    rows.for_each(|(root, ns)| *sums.entry(root).or_default() += ns);
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable();
    sums
}

/// The account of steps. `gpu` is the timeline of the GPU that they are accounted on, if there is one, with what each step
/// was charged with. With `each`, every step, too. Also returns the roots of the parts.
pub(super) fn steps(
    blame: &Blame<'_>,
    found: &Found,
    gpu: Option<(&Timeline<'_>, Vec<Vec<Row>>)>,
    each: bool,
) -> (Steps, StepRoots) {
    let trace = blame.facts.trace;
    let process = trace.process_of_thread(found.thread);
    let device = gpu.as_ref().map(|(timeline, _)| timeline.device);
    let steps = complete(blame, found, gpu);
    let outliers = Outliers::of(&found.lengths());
    let median = &steps[outliers.median];
    let name = |at: usize| trace.text(found.steps[at].name).to_owned();
    let slow = |at: &usize| {
        let FoundStep { start, end, .. } = found.steps[*at];
        let more = steps[*at].more(median);
        let slow = SlowStep {
            name: name(*at),
            start_ns: start,
            duration_ns: end - start,
            busy_more_ns: steps[*at].busy - median.busy,
            more: parts(blame, found, &more),
        };
        (slow, more)
    };
    let one = |(at, step): (usize, &Step)| {
        let (found, busy_ns) = (found.steps[at], step.busy);
        let (start_ns, duration_ns) = (found.start, found.length());
        OneStep { name: name(at), start_ns, duration_ns, busy_ns, idle: step.causes() }
    };
    let total = Step {
        busy: steps.iter().map(|step| step.busy).sum(),
        idle: sums(steps.iter().flat_map(|step| step.idle.iter().copied())),
    };
    let (slow, of_slow) = outliers.slow.iter().map(slow).unzip();
    let account = Steps {
        name: found.name.clone(),
        source: found.source,
        pid: process.some().map_or(0, |process| trace.processes.pid[process.index()]),
        tid: trace.threads.tid[found.thread.index()],
        threads: found.threads() as u64,
        requests: found.requests,
        device: device.map(|device| trace.devices.ordinal[device.index()]),
        count: steps.len() as u64,
        warm_up: found.warm_up as u64,
        mean_ns: total.time(blame, found).duration_ns / steps.len().max(1) as Ns,
        per_second: found.per_second(),
        median_ns: outliers.median_ns,
        spread_ns: outliers.spread_ns,
        median: median.time(blame, found),
        total: total.time(blame, found),
        slow,
        each: steps.iter().enumerate().filter(|_| each).map(one).collect(),
    };
    (account, StepRoots { median: median.idle.clone(), total: total.idle, slow: of_slow })
}

/// Each step, with what its thread did where no GPU waited for anything: before its first work and after its last.
fn complete(blame: &Blame<'_>, found: &Found, gpu: Option<(&Timeline<'_>, Vec<Vec<Row>>)>) -> Vec<Step> {
    let span = gpu.as_ref().map_or((Ns::MAX, Ns::MAX), |(timeline, _)| timeline.span);
    let mut of_steps = gpu.map(|(_, rows)| rows).unwrap_or_default();
    of_steps.resize_with(found.steps.len(), Vec::new);
    let own = |charges: &mut Charges, thread: ThreadId, from: Ns, to: Ns| {
        if from < to {
            blame.activity.walk(thread, from, to, |segment| {
                blame.alone(charges, &Path::of(thread), &segment);
            });
        }
    };
    let step = |(step, rows): (&FoundStep, Vec<Row>)| {
        let mut charges = Charges::default();
        charges.absorb(rows, None);
        own(&mut charges, step.thread, step.start, step.end.min(span.0));
        own(&mut charges, step.thread, step.start.max(span.1), step.end);
        let idle = charged(&settle::settle(charges.done(), blame.facts.trace, blame.sites));
        Step { busy: step.length() - idle.iter().map(|(_, ns)| ns).sum::<Ns>(), idle }
    };
    found.steps.iter().zip(of_steps).map(step).collect()
}

/// Charges the gaps of a GPU to steps and to the whole.
pub(super) struct Cutting<'a, 'b> {
    blame: &'a Blame<'b>,
    device: DeviceId,
    floor: Ns,
    /// The steps, by start, and the first that has not begun yet.
    of: &'a [FoundStep],
    next: usize,
    /// Whether some go on side by side: what they are charged with is not the whole's then.
    are_shared: bool,
    /// Steps that have begun and have not ended, with the charges of each.
    open: Vec<(usize, Charges)>,
    /// Charges of the steps that have ended.
    steps: Vec<Vec<Row>>,
    /// Whether single charges are kept, too.
    each: bool,
    /// Charges of all gaps, once [`Cutting::done`].
    total: Charges,
}

impl<'a, 'b> Cutting<'a, 'b> {
    /// Cuts at steps; without any, gaps stay whole. `floor` is the GPU's launch latency, ns.
    pub fn new(
        blame: &'a Blame<'b>,
        device: DeviceId,
        floor: Ns,
        of: &'a [FoundStep],
        each: bool,
    ) -> Cutting<'a, 'b> {
        let are_shared = of.windows(2).any(|pair| pair[1].start < pair[0].end);
        let (open, steps, total) = (Vec::new(), vec![Vec::new(); of.len()], Charges::kept(each));
        Cutting { blame, device, floor, of, next: 0, are_shared, open, steps, each, total }
    }

    /// Charges the parts of a gap; gaps come in order.
    pub fn charge(&mut self, gap: &Gap) {
        let mut from = gap.start;
        while from < gap.end {
            let until = self.advance(from).min(gap.end);
            let part = Gap { start: from, end: until, ..*gap };
            let floor = self.floor_of(gap, &part);
            let charge = |charges: &mut Charges| {
                charges.enter(gap.next);
                self.blame.gap(charges, self.device, &part, floor);
            };
            match self.open.as_mut_slice() {
                [] => charge(&mut self.total),
                [(_, charges)] if !self.are_shared => charge(charges),
                open => {
                    let mut shared = Charges::kept(self.each);
                    charge(&mut shared);
                    let trail = shared.trail();
                    let rows = shared.done();
                    open.iter_mut().for_each(|(_, charges)| charges.absorb(rows.clone(), None));
                    self.total.absorb(rows, trail);
                }
            }
            from = until;
        }
    }

    /// Finishes all steps.
    pub fn done(mut self) -> (Charges, Vec<Vec<Row>>) {
        self.advance(Ns::MAX);
        (self.total, self.steps)
    }

    /// Begins the steps that begin by a moment, and finishes those that end by it; returns when the next one begins or ends.
    fn advance(&mut self, now: Ns) -> Ns {
        while let Some(step) = self.of.get(self.next).filter(|step| step.start <= now) {
            if step.end > now {
                self.open.push((self.next, Charges::kept(self.each && !self.are_shared)));
            }
            self.next += 1;
        }
        while let Some(ended) = self.open.iter().position(|(at, _)| self.of[*at].end <= now) {
            let (at, charges) = self.open.swap_remove(ended);
            self.finish(at, charges);
        }
        let ends = self.open.iter().map(|(at, _)| self.of[*at].end);
        ends.chain(self.of.get(self.next).map(|step| step.start)).min().unwrap_or(Ns::MAX)
    }

    fn finish(&mut self, at: usize, mut charges: Charges) {
        let trail = charges.trail();
        let rows = charges.done();
        if !self.are_shared {
            self.total.absorb(rows.clone(), trail);
        }
        self.steps[at] = rows;
    }

    /// The launch latency that a part of a gap can have: it follows the call's return, and a part that begins later has only
    /// the rest of it.
    fn floor_of(&self, gap: &Gap, part: &Gap) -> Ns {
        if part.start == gap.start {
            return self.floor;
        }
        let facts = self.blame.facts;
        let call = facts.outermost(facts.trace.ops.call[gap.next.index()]);
        let returned = call.some().map_or(part.start, |call| facts.end(call).clamp(gap.start, gap.end));
        (self.floor - (part.start - returned).max(0)).max(0)
    }
}
