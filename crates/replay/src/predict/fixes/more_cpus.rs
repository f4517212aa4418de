//! Threads do not wait for a processor.

use super::{Fix, Scene};
use crate::Recovered;
use crate::recover::costs::take;
use rustc_hash::FxHashMap;
use sim::{CallOf, Does, RecordedStep};
use trace::{Ns, State, ThreadId};

pub(crate) const FIX: Fix = Fix {
    id: "more-cpus",
    text: "give the program more processors or a higher quota, or start fewer threads beside the ones that launch",
    safety: "always safe",
    apply,
};

/// The scheduler counted how long a thread was ready without a processor in each interval, and not when. It is taken first from the ends
/// of waits, where a thread that has what it waited for goes on late, and then from all that it did awake, in proportion.
pub(crate) fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let ready = ready(scene);
    let mut changed = 0;
    for row in 0..to.recorded.threads.len().min(scene.base.steps.len()) {
        let intervals = to.threads[row].and_then(|thread| ready.get(&thread)).map_or(&[][..], Vec::as_slice);
        for interval in intervals {
            changed += Stretch::of(scene, row, interval).shorten(to);
        }
    }
    changed
}

/// The intervals in which threads were ready without a processor.
fn ready(scene: &Scene<'_>) -> FxHashMap<ThreadId, Vec<State>> {
    let states = &scene.trace.states;
    let mut ready: FxHashMap<ThreadId, Vec<State>> = FxHashMap::default();
    for row in states.ids().filter(|row| states.runnable[row.index()] > 0) {
        ready.entry(states.thread[row.index()]).or_default().push(states.row(row));
    }
    ready
}

/// Activity of a thread in an interval of the scheduler's.
struct Stretch {
    row: usize,
    /// The steps that overlap it, with the time of each in which the thread went on late, and was otherwise awake, within it.
    steps: Vec<(usize, Ns, Ns)>,
    running: Ns,
    runnable: Ns,
}

impl Stretch {
    fn of(scene: &Scene<'_>, row: usize, of: &State) -> Stretch {
        let base = &scene.base;
        let [from, until] = [of.start, of.end].map(|at| at - base.start);
        let begins = &base.begins[row];
        let first = begins.partition_point(|begin| *begin <= from).saturating_sub(1);
        let last = begins.partition_point(|begin| *begin < until).min(base.steps[row].len());
        let overlap = |start: Ns, end: Ns| (end.min(until) - start.max(from)).max(0);
        let part = |at: usize| {
            let (begin, end) = (begins[at], begins[at + 1]);
            let (own, late) = own(&base.recorded.threads[row][at], end - begin);
            (at, overlap(end - late, end), overlap(begin, begin + own))
        };
        Stretch {
            row,
            steps: (first..last.max(first)).map(part).collect(),
            running: of.running,
            runnable: of.runnable,
        }
    }

    /// Takes the time without a processor from the steps. Returns how many it shortens.
    fn shorten(&self, to: &mut Recovered) -> usize {
        let mut rest = self.runnable;
        let mut changed = 0;
        for (at, late, _) in &self.steps {
            let taken = take_late(&mut to.recorded.threads[self.row][*at], rest.min(*late));
            rest -= taken;
            changed += usize::from(taken > 0);
        }
        let awake = (self.running + rest).max(1);
        for (at, _, own) in &self.steps {
            let ns = (i128::from(*own) * i128::from(rest) / i128::from(awake)) as Ns;
            changed += usize::from(take_own(&mut to.recorded.threads[self.row][*at], ns) > 0);
        }
        changed
    }
}

/// The time of a step, from its begin on, that is the thread's own, and that at its end with which it goes on late, of so long in all.
fn own(step: &RecordedStep, all: Ns) -> (Ns, Ns) {
    match *step {
        RecordedStep::Host(ns) | RecordedStep::HostUntil { ns, .. } => (ns.min(all), 0),
        RecordedStep::Await { handoff_ns, .. } | RecordedStep::Acquire { handoff_ns, .. } => {
            (0, handoff_ns.min(all))
        }
        RecordedStep::Call(CallOf { before_ns, held_ns, after_ns, notice_ns, does, .. }) => match does {
            Does::Await(_) | Does::Synchronize(_) | Does::Issue { waits: true, .. } => {
                ((before_ns + held_ns).min(all), (notice_ns + after_ns).min(all))
            }
            Does::Nothing | Does::Issue { .. } => ((before_ns + held_ns + after_ns).min(all), 0),
        },
        RecordedStep::GiveUp { .. }
        | RecordedStep::Post(_)
        | RecordedStep::Leave(_)
        | RecordedStep::Release(_) => (0, 0),
    }
}

/// Takes time from the end of a step's wait; returns how much.
fn take_late(step: &mut RecordedStep, ns: Ns) -> Ns {
    match step {
        RecordedStep::Await { handoff_ns, .. } | RecordedStep::Acquire { handoff_ns, .. } => {
            take([handoff_ns], ns)
        }
        RecordedStep::Call(call) => take([&mut call.notice_ns, &mut call.after_ns], ns),
        _ => 0,
    }
}

/// Takes time from a step's own; returns how much.
fn take_own(step: &mut RecordedStep, ns: Ns) -> Ns {
    match step {
        RecordedStep::Call(call) => {
            let waits =
                matches!(call.does, Does::Await(_) | Does::Synchronize(_) | Does::Issue { waits: true, .. });
            let taken = take([&mut call.held_ns, &mut call.before_ns], ns);
            taken + if waits { 0 } else { take([&mut call.after_ns], ns - taken) }
        }
        step => step.host_mut().map_or(0, |host| take([host], ns)),
    }
}
