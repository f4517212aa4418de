//! What one trace has of each kind that a gate judges: counts for each step, and what its GPU waited for. All are counts or shares
//! within one run, so that traces of machines of different speed can be compared.

use super::Counted;
use crate::{Cause, Class, Explanation, Loss, OneStep, Phase, Place, Spent, StepSource, classify};
use std::collections::BTreeMap;
use std::collections::HashMap;
use trace::{Api, CallId, MemoryKind, Ns, OpKind, Trace};

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
    /// The idle part of the GPU's time, 0 to 1, and for each unit in ns.
    pub idle_share: f64,
    pub idle_ns: f64,
    /// The idle time of each cause: its parts of the GPU's time.
    pub idle: BTreeMap<Cause, Sum>,
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
        let by_step = explanation.steps.as_ref().filter(|steps| !steps.each.is_empty()).map(|steps| {
            let warm_up = (steps.each.len() / WARM_UP).clamp(1, MOST_WARM_UP);
            let kept: Vec<&OneStep> = steps.each.iter().skip(warm_up).collect();
            let windows: Vec<(Ns, Ns)> =
                kept.iter().map(|step| (step.start_ns, step.start_ns + step.duration_ns)).collect();
            let mut measured = calls.measured(Unit::Steps(steps.source, steps.name.clone()), Some((&windows, steps.pid)));
            measured.median_ns = steps.median_ns as f64;
            idle_of_steps(&mut measured, explanation, kept);
            measured
        });
        let mut by_launch = calls.measured(Unit::Launches, None);
        idle_of_all(&mut by_launch, explanation);
        Figures { by_step, by_launch }
    }

    /// What the trace is counted in if it is compared with these; all have the same steps, or none is counted in steps.
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
        let mut order: Vec<CallId> = trace.calls.ids().filter(|call| trace.calls.api[call.index()] != Api::Os).collect();
        let key = |call: &CallId| {
            let at = call.index();
            (trace.calls.thread[at], trace.calls.start[at], std::cmp::Reverse(trace.calls.end[at]))
        };
        order.sort_by_key(key);
        let mut outer: Vec<CallId> = Vec::with_capacity(order.len());
        for call in order {
            let (at, thread) = (call.index(), trace.calls.thread[call.index()]);
            let is_within = outer.last().is_some_and(|last| {
                trace.calls.thread[last.index()] == thread && trace.calls.end[last.index()] > trace.calls.start[at]
            });
            if !is_within {
                outer.push(call);
            }
        }
        let found = crate::places(trace, &outer);
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

    /// What the calls of a process in some windows count; without windows, all calls.
    fn measured(&self, unit: Unit, steps: Option<(&[(Ns, Ns)], i64)>) -> Measured {
        let trace = self.trace;
        let is_in = |call: CallId| {
            let Some((windows, pid)) = steps else { return true };
            let at = trace.calls.start[call.index()];
            let next = windows.partition_point(|(start, _)| *start <= at);
            let process = trace.process_of_thread(trace.calls.thread[call.index()]);
            let is_of = process.some().is_some_and(|process| trace.processes.pid[process.index()] == pid);
            is_of && next > 0 && at < windows[next - 1].1
        };
        let mut counts: BTreeMap<Counted, Sum> = Counted::ALL.iter().map(|kind| (*kind, Sum::default())).collect();
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
        let units = steps.map_or(launches, |(windows, _)| windows.len() as f64);
        for sum in counts.values_mut() {
            sum.total /= units.max(1.0);
            sum.sites.values_mut().for_each(|count| *count /= units.max(1.0));
        }
        let most = |of: BTreeMap<Cause, Ns>| of.into_iter().max_by_key(|(_, ns)| *ns).map(|(cause, _)| cause);
        let causes = causes.into_iter().filter_map(|(site, of)| Some((site, most(of)?))).collect();
        let (idle_share, idle_ns, idle, median_ns) = (0.0, 0.0, BTreeMap::new(), 0.0);
        Measured { unit, counts, idle_share, idle_ns, idle, first_uses, median_ns, causes }
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
        add(arguments.call[row], kind.to_host() || kind.to_device(), [arguments.src[row], arguments.dst[row]]);
    }
    for calls in [&mut copies, &mut pageable] {
        calls.sort_unstable();
        calls.dedup();
    }
    (copies, pageable)
}

/// The idle time in steps, without the slowest ones; each cause's time has the sites that it has in all steps.
fn idle_of_steps(measured: &mut Measured, explanation: &Explanation, mut kept: Vec<&OneStep>) {
    kept.sort_by_key(|step| step.duration_ns);
    kept.truncate(kept.len() - kept.len() / SLOWEST);
    let duration = kept.iter().map(|step| step.duration_ns).sum::<Ns>().max(1) as f64;
    let mut of_cause = BTreeMap::<Cause, Ns>::new();
    kept.iter().flat_map(|step| &step.idle).for_each(|(cause, ns)| *of_cause.entry(*cause).or_default() += ns);
    let idle = of_cause.values().sum::<Ns>() as f64;
    (measured.idle_share, measured.idle_ns) = (idle / duration, idle / kept.len().max(1) as f64);
    let parts = explanation.steps.as_ref().map_or(&[][..], |steps| &steps.total.idle);
    for (cause, ns) in of_cause {
        let part = parts.iter().find(|part| part.cause == cause);
        measured.idle.insert(cause, shared(ns as f64 / duration, part.map_or(&[], |part| &part.spent)));
    }
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

/// What recurs of the idle time of all GPUs from their first operations on: a part that comes once is a start of something.
fn idle_of_all(measured: &mut Measured, explanation: &Explanation) {
    let working: Ns = explanation.accounts.gpus.iter().map(|gpu| gpu.working_ns()).sum();
    let cost = |phase: Phase| explanation.findings.iter().filter(move |of| of.phase == phase);
    let once: Ns = cost(Phase::Once).map(|finding| finding.cost_ns).sum();
    let recurring: Ns = cost(Phase::Recurring).map(|finding| finding.cost_ns).sum();
    let whole = (working - once).max(recurring).max(1) as f64;
    (measured.idle_share, measured.idle_ns) = (recurring as f64 / whole, recurring as f64);
    for finding in cost(Phase::Recurring) {
        let site = Site { place: finding.places.first().cloned(), call: finding.waiter.call.clone() };
        measured.idle.entry(finding.cause).or_default().add(site, finding.cost_ns as f64 / whole);
    }
}
