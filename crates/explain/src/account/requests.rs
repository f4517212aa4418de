//! Steps that are requests: before each of them its thread waits for what comes from outside, or, where several threads do the same, for
//! another thread that hands work over. That time is no part of a request.

use super::activity::Activity;
use super::outside::{Outside, is_demand};
use super::segment::{Doing, Segment, is_for_work};
use crate::facts::Facts;
use crate::steps::{Found, FoundStep, StepSource};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::{Ns, Sym, ThreadId};
use waits::Class;

/// The steps without the time in which nothing was to do: of one thread if at least half of them follow such a time, of several in any case.
/// If at least half do, they are requests. `spans` are those of the threads. The
/// pauses before the requests are divided as this takes them to be.
pub(super) fn apart(
    facts: &Facts<'_>,
    activity: &Activity<'_>,
    outside: &mut Outside,
    found: &Found,
    spans: &[(Ns, Ns)],
) -> Found {
    let mut found = found.clone();
    if found.source == StepSource::Ranges {
        return found;
    }
    let lanes = lanes(facts, &found);
    let looking = Looking::new(facts, activity, outside, &lanes);
    let idle: Vec<_> = lanes.iter().map(|lane| looking.idle(lane, spans)).collect();
    let slept = asleep(outside, &lanes, &idle);
    let (mut steps, mut begun) = (found.steps.clone(), 0);
    for (lane, idle) in lanes.iter().zip(&idle) {
        for (at, idle) in idle.iter().enumerate() {
            let Some(idle) = idle else { continue };
            let (from, to) = idle.times(outside, lane.thread, &slept);
            if let Some(before) = at.checked_sub(1) {
                steps[lane.steps[before]].end = from;
            }
            if let Some(next) = lane.steps.get(at) {
                (steps[*next].start, begun) = (to, begun + usize::from(from < to || at == 0));
            }
        }
    }
    let are_most = begun * 2 >= steps.len();
    if !are_most && !looking.several {
        return found;
    }
    for ((thread, pause), ns) in slept {
        outside.set_slept_first(thread, pause, ns);
    }
    steps.retain(|step| step.start < step.end);
    steps.sort_by_key(|step| (step.start, step.thread));
    found.steps = steps;
    Found { requests: are_most, ..found }
}

/// The steps of one thread.
struct Lane {
    thread: ThreadId,
    /// Rows of the steps, in order.
    steps: Vec<usize>,
    /// When each was asked for, and the end of the last one, ns.
    moments: Vec<Ns>,
    /// Whether its thread did nothing of the kind before.
    is_first: bool,
}

fn lanes(facts: &Facts<'_>, found: &Found) -> Vec<Lane> {
    let mut lanes = BTreeMap::<ThreadId, Lane>::new();
    for (at, step) in found.steps.iter().enumerate() {
        let FoundStep { thread, is_first, .. } = *step;
        let lane = || Lane { thread, steps: Vec::new(), moments: Vec::new(), is_first };
        let lane = lanes.entry(thread).or_insert_with(lane);
        lane.steps.push(at);
        lane.moments.push(facts.start(step.call));
    }
    let mut lanes: Vec<Lane> = lanes.into_values().collect();
    lanes
        .iter_mut()
        .for_each(|lane| lane.moments.extend(lane.steps.last().map(|last| found.steps[*last].end)));
    lanes
}

/// A time in which a thread had nothing to do.
#[derive(Clone, Copy)]
enum Idle {
    /// A recorded wait, or a moment: start and end, ns.
    Known(Ns, Ns),
    /// A pause, by its number among the thread's, for some of which the thread slept.
    Pause(usize),
}

impl Idle {
    fn times(
        self,
        outside: &Outside,
        thread: ThreadId,
        slept: &FxHashMap<(ThreadId, usize), Ns>,
    ) -> (Ns, Ns) {
        match self {
            Idle::Known(from, to) => (from, to),
            Idle::Pause(at) => {
                let start = outside.pauses(thread)[at].start;
                (start, start + slept.get(&(thread, at)).copied().unwrap_or(0))
            }
        }
    }
}

/// How long the thread slept in each pause before a request, ns. The scheduler's numbers are sums over several requests: what the thread
/// does besides is taken to be as long in each of them.
fn asleep(outside: &Outside, lanes: &[Lane], idle: &[Vec<Option<Idle>>]) -> FxHashMap<(ThreadId, usize), Ns> {
    let mut slept = FxHashMap::default();
    for (lane, idle) in lanes.iter().zip(idle) {
        let pause = |idle: &Option<Idle>| match idle {
            Some(Idle::Pause(at)) => Some(*at),
            Some(Idle::Known(..)) | None => None,
        };
        let pauses: Vec<usize> = idle.iter().filter_map(pause).collect();
        let of = |at: &usize| &outside.pauses(lane.thread)[*at];
        let lengths: Vec<Ns> = pauses.iter().map(|at| of(at).end - of(at).start).collect();
        let awake = level(&lengths, pauses.iter().map(|at| of(at).blocked).sum());
        let row = |(at, length): (&usize, &Ns)| ((lane.thread, *at), (length - awake).clamp(0, of(at).known));
        slept.extend(pauses.iter().zip(&lengths).map(row));
    }
    slept
}

/// Amount to take off each of some lengths, as far as it is as long, so that `left` is left in all.
fn level(lengths: &[Ns], left: Ns) -> Ns {
    let mut lengths = lengths.to_vec();
    lengths.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
    let mut sum = 0;
    for (at, length) in lengths.iter().enumerate() {
        sum += length;
        let level = (sum - left) / (at as Ns + 1);
        if level >= lengths.get(at + 1).copied().unwrap_or(0) {
            return level.max(0);
        }
    }
    0
}

/// Looks for the time in which a thread had nothing to do.
struct Looking<'a, 'b> {
    facts: &'a Facts<'b>,
    activity: &'a Activity<'b>,
    outside: &'a Outside,
    /// Whether several threads do the same.
    several: bool,
    /// The calls around the pauses in which threads waited most for what comes from outside.
    usual: Option<(Sym, Sym)>,
}

impl<'a, 'b> Looking<'a, 'b> {
    fn new(
        facts: &'a Facts<'b>,
        activity: &'a Activity<'b>,
        outside: &'a Outside,
        lanes: &[Lane],
    ) -> Looking<'a, 'b> {
        let mut looking = Looking { facts, activity, outside, several: lanes.len() > 1, usual: None };
        let mut around = BTreeMap::<(Sym, Sym), Ns>::new();
        for lane in lanes {
            for pause in looking.pauses_in(lane.thread, lane.moments[0], lane.moments[lane.moments.len() - 1])
            {
                if looking.is_demand(lane.thread, pause) {
                    *around.entry(looking.around(lane.thread, pause)).or_default() +=
                        looking.slept(lane.thread, pause);
                }
            }
        }
        looking.usual = around.into_iter().max_by_key(|(_, ns)| *ns).map(|(around, _)| around);
        looking
    }

    /// When the thread had nothing to do before each step of a lane, and after the last one.
    fn idle(&self, lane: &Lane, spans: &[(Ns, Ns)]) -> Vec<Option<Idle>> {
        let birth = spans[lane.thread.index()].0;
        // What a thread that has just begun did until it asked for work belongs to its first request.
        let first = (self.several && lane.is_first && birth < lane.moments[0])
            .then(|| self.longest(lane.thread, birth, lane.moments[0]).unwrap_or(Idle::Known(birth, birth)));
        let between = lane.moments.windows(2).map(|pair| self.longest(lane.thread, pair[0], pair[1]));
        std::iter::once(first).chain(between).collect()
    }

    /// The longest stretch of a time in which a thread had nothing to do.
    fn longest(&self, thread: ThreadId, from: Ns, to: Ns) -> Option<Idle> {
        let mut found: Vec<(bool, Ns, Idle)> = Vec::new();
        self.activity.walk(thread, from, to, |segment| {
            if self.waits_for_work(&segment) {
                found.push((true, segment.length(), Idle::Known(segment.start, segment.end)));
            }
        });
        for at in self.pauses_in(thread, from, to) {
            let is_usual = Some(self.around(thread, at)) == self.usual;
            if is_usual || self.is_demand(thread, at) {
                let pause = &self.outside.pauses(thread)[at];
                found.push((is_usual, pause.end - pause.start, Idle::Pause(at)));
            }
        }
        found.into_iter().max_by_key(|(is_usual, length, _)| (*is_usual, *length)).map(|(.., idle)| idle)
    }

    /// The pauses of a thread that begin in a time.
    fn pauses_in(&self, thread: ThreadId, from: Ns, to: Ns) -> std::ops::Range<usize> {
        let pauses = self.outside.pauses(thread);
        let before = |time: Ns| pauses.partition_point(|pause| pause.start < time);
        before(from)..before(to)
    }

    /// The calls before and after a pause.
    fn around(&self, thread: ThreadId, pause: usize) -> (Sym, Sym) {
        let pause = &self.outside.pauses(thread)[pause];
        let names = &self.facts.trace.calls.name;
        let name = |call: trace::CallId| call.some().map_or(Sym::default(), |call| names[call.index()]);
        (name(self.activity.call_before(thread, pause.start)), name(pause.next))
    }

    fn slept(&self, thread: ThreadId, pause: usize) -> Ns {
        self.outside.pauses(thread)[pause].blocked
    }

    /// Whether a thread slept in a pause until something came from outside.
    fn is_demand(&self, thread: ThreadId, pause: usize) -> bool {
        let pause = &self.outside.pauses(thread)[pause];
        pause.blocked > 0 && is_demand(self.facts.trace, pause)
    }

    /// Whether a thread waits for another one that hands work over, as far as it is known: one of several that do the same, or one that is
    /// handed what came from outside. Who asks a GPU for work meanwhile does that for the one that waits.
    fn waits_for_work(&self, segment: &Segment) -> bool {
        let Doing::Waiting(wait) = segment.doing else { return false };
        let waits = &self.facts.trace.waits;
        let by = waits.releaser[wait.index()];
        is_for_work(waits.kind[wait.index()])
            && !self.launches(by, segment)
            && (self.several || self.waits_for_demand(by, segment))
    }

    /// Whether a thread asks a GPU for work meanwhile.
    fn launches(&self, thread: ThreadId, meanwhile: &Segment) -> bool {
        let Some(thread) = thread.some() else { return false };
        let calls = &self.facts.calls_by_thread()[thread.index()];
        let first = calls.partition_point(|call| self.facts.start(*call) < meanwhile.start);
        let mut within = calls[first..].iter().take_while(|call| self.facts.start(**call) < meanwhile.end);
        within.any(|call| self.facts.class(*call) == Class::Launch)
    }

    /// Whether a thread waited for what comes from outside for most of a segment of another one.
    fn waits_for_demand(&self, thread: ThreadId, of: &Segment) -> bool {
        let Some(thread) = thread.some() else { return false };
        let mut slept = 0;
        self.activity.walk(thread, of.start, of.end, |segment| {
            if self.outside.pause(thread, &segment).is_some_and(|pause| is_demand(self.facts.trace, pause)) {
                slept += self.outside.shares(thread, &segment).blocked;
            }
        });
        slept * 2 > of.length()
    }
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn a_level_leaves_what_is_wanted() {
        let left =
            |lengths: &[i64], level: i64| lengths.iter().map(|length| (length - level).max(0)).sum::<i64>();
        assert_eq!(level(&[10, 4, 1], 8), 3);
        assert_eq!(left(&[10, 4, 1], 3), 8);
        assert_eq!(level(&[10, 4, 1], 15), 0, "all");
        assert_eq!(level(&[10, 4, 1], 20), 0, "more than all");
        assert_eq!(level(&[10, 4, 1], 0), 10, "nothing");
        assert_eq!(level(&[], 5), 0);
    }
}
