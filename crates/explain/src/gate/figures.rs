//! Figures of one trace for each kind that a gate judges: counts for each step, and the waits of its GPU. All are counts or shares
//! within one run, so that traces of machines of different speed can be compared.

use super::Counted;
use crate::{Cause, Class, Explanation, GpuAccount, Loss, OneStep, Place, Spent, StepSource, classify};
use std::collections::BTreeMap;
use std::collections::HashMap;
use trace::{Api, CallId, MemoryKind, Ns, OpKind, Selection, Trace};

/// One step in so many may be slow for reasons outside of the program: the slowest ones are no part of the idle share. A choice.
const SLOWEST: usize = 20;
/// The first steps warm up: one in so many, from one to the most. Choices.
const WARM_UP: usize = 10;
const MOST_WARM_UP: usize = 10;

/// Where something is in a program.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Site {
    pub place: Option<Place>,
    /// The call, where one is known.
    pub call: String,
}

/// Something counted or measured, with its sum at each site.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub total: f64,
    pub sites: BTreeMap<Site, f64>,
}

impl Sum {
    fn add(&mut self, site: Site, amount: f64) {
        self.total += amount;
        *self.sites.entry(site).or_default() += amount;
    }
}

/// A part of a GPU's time.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// The part, 0 to 1.
    pub share: f64,
    /// The time for each step, or in all, ns.
    pub ns: f64,
    /// The parts of each cause.
    pub causes: BTreeMap<Cause, Sum>,
}

/// In what a trace is counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// In steps of this source and name.
    Steps(StepSource, String),
    /// In launches: the trace has no steps.
    Launches,
}

/// The figures of one trace.
#[derive(Clone, Debug)]
pub struct Figures {
    by_step: Option<Measured>,
    by_launch: Measured,
}

/// The figures in one unit.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub unit: Unit,
    /// The number of each kind for each unit.
    pub counts: BTreeMap<Counted, Sum>,
    /// The part of the GPU's time in which it was idle.
    pub idle: Shares,
    /// The part of the middle of the GPU's time in which it was held back.
    pub held_back: Shares,
    /// Calls that set something up after the warm-up: ns.
    pub first_uses: Sum,
    /// The duration of the median step, ns; 0 without steps.
    pub median_ns: f64,
    /// The causes of the time that calls at a site lost.
    pub causes: BTreeMap<Site, Cause>,
}

impl Figures {
    /// The figures of a trace that [`crate::explain_each`] explained.
    pub fn of(trace: &Trace, explanation: &Explanation, losses: &[Loss]) -> Figures {
        let calls = OuterCalls::of(trace, losses);
        let window = middle(trace);
        let selection = Selection { from: Some(window.0), to: Some(window.1), ..Selection::default() };
        let gpus = crate::accounts(trace, &selection).gpus;
        let held_back = held_back(&gpus, explanation);
        let by_step = explanation.steps.as_ref().filter(|steps| !steps.each.is_empty()).map(|steps| {
            let warm_up = (steps.each.len() / WARM_UP).clamp(1, MOST_WARM_UP);
            let kept: Vec<&OneStep> = steps.each.iter().skip(warm_up).collect();
            let windows: Vec<(Ns, Ns)> =
                kept.iter().map(|step| (step.start_ns, step.start_ns + step.duration_ns)).collect();
            let mut measured =
                calls.measured(Unit::Steps(steps.source, steps.name.clone()), (&windows, Some(steps.pid)));
            measured.median_ns = steps.median_ns as f64;
            (measured.idle, measured.held_back) = (idle_of_steps(explanation, kept), held_back.clone());
            measured
        });
        let mut by_launch = calls.measured(Unit::Launches, (&[window], None));
        (by_launch.idle, by_launch.held_back) = (idle_of(&gpus), held_back);
        Figures { by_step, by_launch }
    }

    /// Unit in which the trace is counted if it is compared with these; all have the same steps, or none is counted in steps.
    pub(super) fn unit(&self) -> Option<&Unit> {
        self.by_step.as_ref().map(|measured| &measured.unit)
    }

    pub(super) fn measured(&self, by_step: bool) -> &Measured {
        self.by_step.as_ref().filter(|_| by_step).unwrap_or(&self.by_launch)
    }
}

/// The calls of a trace that are in no other call.
struct OuterCalls<'a> {
    trace: &'a Trace,
    outer: Vec<CallId>,
    places: HashMap<CallId, Place>,
    lost: HashMap<CallId, Vec<(Cause, Ns)>>,
    pageable: Vec<CallId>,
    copies: Vec<CallId>,
}

impl<'a> OuterCalls<'a> {
    fn of(trace: &'a Trace, losses: &[Loss]) -> OuterCalls<'a> {
        let mut order: Vec<CallId> =
            trace.calls.ids().filter(|call| trace.calls.api[call.index()] != Api::Os).collect();
        let key = |call: &CallId| {
            let at = call.index();
            (trace.calls.thread[at], trace.calls.start[at], std::cmp::Reverse(trace.calls.end[at]))
        };
        order.sort_by_key(key);
        let mut outer: Vec<CallId> = Vec::with_capacity(order.len());
        for call in order {
            let (at, thread) = (call.index(), trace.calls.thread[call.index()]);
            let is_within = outer.last().is_some_and(|last| {
                trace.calls.thread[last.index()] == thread
                    && trace.calls.end[last.index()] > trace.calls.start[at]
            });
            if !is_within {
                outer.push(call);
            }
        }
        let found = crate::facts::places::places(trace, &outer);
        let places = outer.iter().zip(found).filter_map(|(call, place)| Some((*call, place?))).collect();
        let mut lost = HashMap::<CallId, Vec<(Cause, Ns)>>::new();
        for loss in losses.iter().filter(|loss| loss.call.is_some() && loss.lost_ns > 0) {
            lost.entry(loss.call).or_default().push((loss.cause, loss.lost_ns));
        }
        let (copies, pageable) = copies(trace);
        OuterCalls { trace, outer, places, lost, pageable, copies }
    }

    fn site(&self, call: CallId) -> Site {
        let name = self.trace.text(self.trace.calls.name[call.index()]).to_owned();
        Site { place: self.places.get(&call).cloned(), call: name }
    }

    /// Counts of the calls of a process, else of all, in some windows.
    fn measured(&self, unit: Unit, (windows, pid): (&[(Ns, Ns)], Option<i64>)) -> Measured {
        let trace = self.trace;
        let is_in = |call: CallId| {
            let at = trace.calls.start[call.index()];
            let next = windows.partition_point(|(start, _)| *start <= at);
            let process = trace.process_of_thread(trace.calls.thread[call.index()]);
            let is_of =
                |pid| process.some().is_some_and(|process| trace.processes.pid[process.index()] == pid);
            pid.is_none_or(is_of) && next > 0 && at < windows[next - 1].1
        };
        let mut counts: BTreeMap<Counted, Sum> =
            Counted::ALL.iter().map(|kind| (*kind, Sum::default())).collect();
        let mut first_uses = Sum::default();
        let mut causes = BTreeMap::<Site, BTreeMap<Cause, Ns>>::new();
        let mut sums = HashMap::<(Counted, Site), f64>::new();
        for call in self.outer.iter().copied().filter(|call| is_in(*call)) {
            let kinds = self.kinds(call);
            let lost = self.lost.get(&call).map_or(&[][..], Vec::as_slice);
            if kinds.is_empty() && lost.is_empty() {
                continue;
            }
            let site = self.site(call);
            for (cause, ns) in lost {
                *causes.entry(site.clone()).or_default().entry(*cause).or_default() += ns;
                if *cause == Cause::FirstUse {
                    first_uses.add(site.clone(), *ns as f64);
                }
            }
            for kind in kinds {
                *sums.entry((kind, site.clone())).or_default() += 1.0;
            }
        }
        for ((kind, site), count) in sums {
            counts.entry(kind).or_default().add(site, count);
        }
        let launches = counts.get(&Counted::Launches).map_or(0.0, |launches| launches.total);
        let units = if unit == Unit::Launches { launches } else { windows.len() as f64 };
        for sum in counts.values_mut() {
            sum.total /= units.max(1.0);
            sum.sites.values_mut().for_each(|count| *count /= units.max(1.0));
        }
        let most = |of: BTreeMap<Cause, Ns>| of.into_iter().max_by_key(|(_, ns)| *ns).map(|(cause, _)| cause);
        let causes = causes.into_iter().filter_map(|(site, of)| Some((site, most(of)?))).collect();
        let (idle, held_back, median_ns) = (Shares::default(), Shares::default(), 0.0);
        Measured { unit, counts, idle, held_back, first_uses, median_ns, causes }
    }

    fn kinds(&self, call: CallId) -> Vec<Counted> {
        let trace = self.trace;
        let mut kinds = Vec::new();
        match classify(trace.text(trace.calls.name[call.index()])) {
            Class::Launch => kinds.push(Counted::Launches),
            Class::Sync | Class::Copy { blocking: true } => kinds.push(Counted::Synchronizations),
            Class::Allocate | Class::Release => kinds.push(Counted::Allocations),
            _ => {}
        }
        if self.copies.binary_search(&call).is_ok() {
            kinds.push(Counted::Copies);
        }
        if self.pageable.binary_search(&call).is_ok() {
            kinds.push(Counted::PageableCopies);
        }
        kinds
    }
}

/// The calls that copy between host and device, and those that copy from or into pageable memory, in order.
fn copies(trace: &Trace) -> (Vec<CallId>, Vec<CallId>) {
    let mut copies = Vec::new();
    let mut pageable = Vec::new();
    let mut add = |call: CallId, crosses: bool, ends: [MemoryKind; 2]| {
        if call.is_some() && crosses {
            copies.push(call);
            if ends.contains(&MemoryKind::Pageable) {
                pageable.push(call);
            }
        }
    };
    for op in trace.ops.ids().map(|op| op.index()).filter(|op| trace.ops.kind[*op] == OpKind::Copy) {
        let (ops, kind) = (&trace.ops, trace.ops.copy[op]);
        add(ops.call[op], kind.to_host() || kind.to_device(), [ops.src[op], ops.dst[op]]);
    }
    // Recordings without the GPU's records have the calls' arguments.
    for row in trace.arguments.ids().map(|row| row.index()) {
        let (arguments, kind) = (&trace.arguments, trace.arguments.copy[row]);
        add(
            arguments.call[row],
            kind.to_host() || kind.to_device(),
            [arguments.src[row], arguments.dst[row]],
        );
    }
    for calls in [&mut copies, &mut pageable] {
        calls.sort_unstable();
        calls.dedup();
    }
    (copies, pageable)
}

/// The idle time in steps, without the slowest ones; each cause's time has the sites that it has in all steps.
fn idle_of_steps(explanation: &Explanation, mut kept: Vec<&OneStep>) -> Shares {
    kept.sort_by_key(|step| step.duration_ns);
    kept.truncate(kept.len() - kept.len() / SLOWEST);
    let duration = kept.iter().map(|step| step.duration_ns).sum::<Ns>().max(1) as f64;
    let mut of_cause = BTreeMap::<Cause, Ns>::new();
    kept.iter()
        .flat_map(|step| &step.idle)
        .for_each(|(cause, ns)| *of_cause.entry(*cause).or_default() += ns);
    let idle = of_cause.values().sum::<Ns>() as f64;
    let (share, ns) = (idle / duration, idle / kept.len().max(1) as f64);
    let parts = explanation.steps.as_ref().map_or(&[][..], |steps| &steps.total.idle);
    let of = |(cause, ns): (Cause, Ns)| {
        let part = parts.iter().find(|part| part.cause == cause);
        (cause, shared(ns as f64 / duration, part.map_or(&[], |part| &part.spent)))
    };
    Shares { share, ns, causes: of_cause.into_iter().map(of).collect() }
}

/// A share among the sites of a part of an account.
fn shared(share: f64, spent: &[Spent]) -> Sum {
    let whole = spent.iter().map(|spent| spent.ns).sum::<Ns>().max(1) as f64;
    let mut sum = Sum { total: share, sites: BTreeMap::new() };
    for Spent { place, call, ns } in spent {
        let site = Site { place: place.clone(), call: call.clone() };
        *sum.sites.entry(site).or_default() += share * *ns as f64 / whole;
    }
    sum
}

/// The middle of a trace: from the start of a tenth of its operations, else of its calls, to that of nine tenths. What comes before
/// is set-up.
fn middle(trace: &Trace) -> (Ns, Ns) {
    let mut starts = if trace.ops.is_empty() { trace.calls.start.clone() } else { trace.ops.start.clone() };
    starts.sort_unstable();
    let at = |tenths: usize| starts.get(starts.len() * tenths / 10).copied().unwrap_or(0);
    (at(1), at(9).max(at(1) + 1))
}

/// The idle time of GPUs.
fn idle_of(gpus: &[GpuAccount]) -> Shares {
    let span = span(gpus);
    let ns = gpus.iter().map(|gpu| gpu.span_ns - gpu.busy_ns).sum::<Ns>() as f64;
    let mut causes = BTreeMap::<Cause, Sum>::new();
    for part in gpus.iter().flat_map(|gpu| &gpu.idle) {
        let sum = causes.entry(part.cause).or_default();
        shared(part.ns as f64 / span, &part.spent)
            .sites
            .into_iter()
            .for_each(|(site, share)| sum.add(site, share));
    }
    Shares { share: ns / span, ns, causes }
}

/// The busy time of GPUs in which they were held back: each cause where the findings of the whole trace have it first.
fn held_back(gpus: &[GpuAccount], explanation: &Explanation) -> Shares {
    let span = span(gpus);
    let mut shares = Shares::default();
    for part in gpus.iter().flat_map(|gpu| &gpu.held_back).map(|held_back| &held_back.part) {
        let finding = explanation.findings.iter().find(|finding| finding.cause == part.cause);
        let site = Site {
            place: finding.and_then(|finding| finding.places.first().cloned()),
            call: finding.map_or(String::new(), |finding| finding.waiter.call.clone()),
        };
        shares.causes.entry(part.cause).or_default().add(site, part.ns as f64 / span);
        shares.ns += part.ns as f64;
    }
    shares.share = shares.ns / span;
    shares
}

fn span(gpus: &[GpuAccount]) -> f64 {
    gpus.iter().map(|gpu| gpu.span_ns).sum::<Ns>().max(1) as f64
}
