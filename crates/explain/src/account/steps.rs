//! The account of steps: the time of a GPU within each, by root cause, and what slow steps had more of than the median.

use super::blame::Blame;
use super::gaps::{Gap, Timeline};
use super::roots::{Charges, Root};
use super::{AccountPart, by_cause, floor};
use crate::Place;
use crate::steps::{Found, Outliers, SlowStep, StepTime, Steps, busiest};
use rustc_hash::FxHashMap;
use trace::{Ns, ThreadId};

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

    /// What this step had more of than another one; less is negative.
    fn more(&self, usual: &Step) -> Vec<(Root, Ns)> {
        let less = usual.idle.iter().map(|(root, ns)| (*root, -ns));
        let mut more = sums(self.idle.iter().copied().chain(less));
        more.retain(|(_, ns)| *ns != 0);
        more
    }
}

/// What was charged, by cause. That a place is in a step says nothing: it is none.
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

/// The account of the steps on the GPU that their process uses most; without a GPU, on their thread.
pub(super) fn steps(blame: &Blame<'_>, found: &Found, timelines: &[Timeline<'_>]) -> Steps {
    let trace = blame.facts.trace;
    let process = trace.process_of_thread(found.thread);
    let device = busiest(trace, process);
    let timeline = timelines.iter().find(|timeline| Some(timeline.device) == device);
    let steps = Cutting::new(blame, found.thread, timeline).cut(&found.times);
    let outliers = Outliers::of(&found.times);
    let median = &steps[outliers.median];
    let slow = |at: &usize| {
        let (start, end) = found.times[*at];
        SlowStep {
            name: found.names.get(*at).map_or("", |name| trace.text(*name)).to_owned(),
            start_ns: start,
            duration_ns: end - start,
            busy_more_ns: steps[*at].busy - median.busy,
            more: parts(blame, found, &steps[*at].more(median)),
        }
    };
    let total = Step {
        busy: steps.iter().map(|step| step.busy).sum(),
        idle: sums(steps.iter().flat_map(|step| step.idle.iter().copied())),
    };
    Steps {
        name: found.name.clone(),
        source: found.source,
        pid: process.some().map_or(0, |process| trace.processes.pid[process.index()]),
        tid: trace.threads.tid[found.thread.index()],
        device: timeline.map(|timeline| trace.devices.ordinal[timeline.device.index()]),
        count: steps.len() as u64,
        median_ns: outliers.median_ns,
        spread_ns: outliers.spread_ns,
        median: median.time(blame, found),
        total: total.time(blame, found),
        slow: outliers.slow.iter().map(slow).collect(),
    }
}

/// Cuts the account of a GPU into steps.
struct Cutting<'a, 'b> {
    blame: &'a Blame<'b>,
    thread: ThreadId,
    timeline: Option<&'a Timeline<'b>>,
    floor: Ns,
}

impl<'a, 'b> Cutting<'a, 'b> {
    fn new(blame: &'a Blame<'b>, thread: ThreadId, timeline: Option<&'a Timeline<'b>>) -> Cutting<'a, 'b> {
        let floor = timeline.map_or(0, |timeline| floor(blame.facts.trace, timeline));
        Cutting { blame, thread, timeline, floor }
    }

    /// The account of each of some steps, which are in order and apart.
    fn cut(&self, times: &[(Ns, Ns)]) -> Vec<Step> {
        let mut gaps = self.timeline.into_iter().flat_map(|timeline| timeline.gaps()).peekable();
        let span = self.timeline.map_or((Ns::MAX, Ns::MAX), |timeline| timeline.span);
        let mut steps = Vec::with_capacity(times.len());
        for (from, to) in times.iter().copied() {
            let mut charges = Charges::default();
            // Before its first work and after its last the GPU waits for nothing: the time is the thread's.
            self.own(&mut charges, from, to.min(span.0));
            self.own(&mut charges, from.max(span.1), to);
            while gaps.next_if(|gap| gap.end <= from).is_some() {}
            while let Some(gap) = gaps.peek().filter(|gap| gap.start < to) {
                self.part(&mut charges, gap, (from, to));
                if gap.end > to {
                    break;
                }
                gaps.next();
            }
            let idle = charges.rows().to_vec();
            let busy = to - from - idle.iter().map(|(_, ns)| ns).sum::<Ns>();
            steps.push(Step { busy, idle });
        }
        steps
    }

    fn own(&self, charges: &mut Charges, from: Ns, to: Ns) {
        let (blame, thread) = (self.blame, self.thread);
        if from < to {
            blame.activity.walk(thread, from, to, |segment| blame.alone(charges, thread, &segment));
        }
    }

    /// Charges the part of a gap in a step.
    fn part(&self, charges: &mut Charges, gap: &Gap, (from, to): (Ns, Ns)) {
        let facts = self.blame.facts;
        let part = Gap { start: gap.start.max(from), end: gap.end.min(to), ..*gap };
        let Some(timeline) = self.timeline else { return };
        // The launch latency follows the call's return: a part that begins later has only the rest of it.
        let call = facts.outermost(facts.trace.ops.call[gap.next.index()]);
        let returned = call.some().map_or(part.start, |call| facts.end(call).clamp(gap.start, gap.end));
        let floor = (self.floor - (part.start - returned).max(0)).max(0);
        self.blame.gap(charges, timeline.device, &part, floor);
    }
}
