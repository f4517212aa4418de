//! The time that an explanation speaks of: what is selected, else what the program repeats, without its start-up.

use crate::facts::Facts;
use crate::result::refusal::Refusal;
use crate::steps::{self, Found, FoundStep};
use trace::{Ns, Selection, Trace};
use waits::Class;

/// The time to account for.
pub(crate) struct Scope {
    /// The accounted time, ns.
    pub window: (Ns, Ns),
    /// Whether `window` is what the program repeats, and not all that is selected.
    pub is_steady: bool,
    /// End of the start-up, ns, if the program has one that stands out.
    pub started: Option<Ns>,
    /// End of the GPUs' last work, ns, if the time after it stands out.
    pub ended: Option<Ns>,
    /// The steps in it.
    pub steps: Option<Found>,
}

impl Scope {
    /// The steady part of a trace if nothing else is selected, else what is. Without steps and without a start-up that stands
    /// out it is all of the time; so it is if nearly all is start-up.
    pub fn find(facts: &Facts<'_>, selection: &Selection) -> Scope {
        let whole = selection.from.is_none() && selection.to.is_none() && selection.range.is_none();
        let is_known = whole && Refusal::of(facts.trace).is_none();
        let ended = is_known.then(|| after_the_gpu(facts)).flatten();
        let all = Scope { ended, ..Scope::selected(facts, selection) };
        let Some(found) = is_known.then(|| steady(facts, all.steps.as_ref())).flatten() else {
            let started = before_the_gpu(facts.trace).filter(|_| is_known);
            return Scope { started, ..all };
        };
        let (start, end) = facts.trace.span().unwrap_or(found);
        let started = Some(found.0).filter(|from| from - start > (end - start) / WORTH);
        if found.0 - start >= (end - start) / 100 * NEARLY_ALL {
            return Scope { started, ..all };
        }
        Scope { window: found, is_steady: true, started, ..all }.with_steps_within()
    }

    /// The selected time, with its steps.
    pub fn selected(facts: &Facts<'_>, selection: &Selection) -> Scope {
        let window = asked(selection);
        Scope { window, is_steady: false, started: None, ended: None, steps: steps::find(facts, window) }
    }

    fn with_steps_within(self) -> Scope {
        let (from, to) = self.window;
        Scope { steps: self.steps.and_then(|steps| steps.within(from, to)), ..self }
    }

    /// The time before and after it, ns.
    pub fn rest(&self) -> [(Ns, Ns); 2] {
        [(Ns::MIN, self.window.0), (self.window.1, Ns::MAX)]
    }
}

/// The selected time, ns.
fn asked(selection: &Selection) -> (Ns, Ns) {
    (selection.from.unwrap_or(Ns::MIN), selection.to.unwrap_or(Ns::MAX))
}

fn steady(facts: &Facts<'_>, steps: Option<&Found>) -> Option<(Ns, Ns)> {
    let trace = facts.trace;
    let (start, _) = trace.span()?;
    let end = trace.ops.end.iter().copied().max()?;
    let steady = steps.and_then(|steps| of_steps(steps, end));
    let has_work = |(from, to): &(Ns, Ns)| {
        let mut times = trace.ops.start.iter().zip(&trace.ops.end);
        times.any(|(start, end)| start < to && from < end)
    };
    steady.filter(has_work).or_else(|| {
        let paused = after_start_up(trace, (start, end));
        let loads = facts.calls_where(|call| facts.class(call) == Class::Load);
        let loaded: Vec<Ns> = loads.into_iter().map(|call| facts.end(call)).collect();
        after_loads(trace, &loaded, (start, end)).into_iter().chain(paused).max()
    })
}

/// The time from the first step to the end of the last one, if steps are at least half of the time from there on.
fn of_steps(steps: &Found, end: Ns) -> Option<(Ns, Ns)> {
    let (from, to) = steps.span()?;
    let all: Ns = steps.steps.iter().map(FoundStep::length).sum();
    (all >= (end - from) / 2 && from < to).then_some((from, to))
}

/// The part of a program's time, in percent, from which on its start-up is nearly all. A choice.
const NEARLY_ALL: Ns = 90;

/// The shortest start-up that pauses alone show, ns: a context takes longer to create. A choice.
const SHORTEST: Ns = 100_000_000;

/// The start of the GPUs' first operation, ns, if nearly all of a program's time comes before it.
fn before_the_gpu(trace: &Trace) -> Option<Ns> {
    let (start, end) = trace.span()?;
    let first = trace.ops.start.iter().copied().min()?;
    let is_long = first - start >= SHORTEST.max((end - start) / 100 * NEARLY_ALL);
    is_long.then_some(first)
}

/// The end of the GPUs' last operation, ns, if the time after it is long enough, and nobody asked for more, which was not recorded.
fn after_the_gpu(facts: &Facts<'_>) -> Option<Ns> {
    let (start, end) = facts.trace.span()?;
    let last = facts.trace.ops.end.iter().copied().max()?;
    let is_long = end - last >= SHORTEST.max((end - start) / WORTH);
    let asks = |call| facts.start(call) > last && facts.class(call).enqueues();
    (is_long && facts.calls_where(asks).is_empty()).then_some(last)
}

/// The smallest part of a program's time that comes after a start-up that pauses alone show: one in this many. Of a program that mostly
/// starts, its start is what there is to explain. A choice.
const REST: Ns = 4;

/// The smallest part of a program's time that a pause of its start-up has: one in this many. A choice, as those below.
const WORTH: Ns = 100;

/// Factor by which a pause of a start-up is longer than every later one.
const LONGER: Ns = 4;

/// The part of a start-up in which no GPU works, and that which pauses of about its last one's length are, in percent.
const IDLE: Ns = 75;
const PAUSED: Ns = 60;

/// Fewest pauses of GPUs after a start-up: something repeats.
const REPEATED: usize = 16;

/// Most pauses of GPUs with which a program ends: more of them are what it repeats. A choice.
const ENDING: usize = 4;

/// Where the pauses with which a program ends begin, ns: it reads a result, and hardly works. Pauses of what it repeats are shorter. Else
/// `end`.
fn before_ending(gaps: &[(Ns, Ns)], (start, end): (Ns, Ns)) -> Ns {
    let mut idle = 0;
    let is_longer = |at: usize| {
        let before = gaps[at.saturating_sub(REPEATED)..at].iter().map(length).max();
        before.is_some_and(|before| length(&gaps[at]) >= before * LONGER)
    };
    let last = (0..gaps.len()).rev().take(ENDING).take_while(|at| end - gaps[*at].0 <= (end - start) / REST);
    let ends = last.filter(|at| {
        let gap = &gaps[*at];
        idle += length(gap);
        length(gap) >= (end - start) / WORTH && idle >= (end - gap.0) / 100 * IDLE && is_longer(*at)
    });
    ends.last().map_or(end, |at| gaps[at].0)
}

/// The time after the pauses with which a program starts, if these are longer than all later ones but those with which it ends.
fn after_start_up(trace: &Trace, (start, end): (Ns, Ns)) -> Option<(Ns, Ns)> {
    let mut gaps = gaps(trace, start);
    let end = before_ending(&gaps, (start, end));
    gaps.retain(|gap| gap.0 < end);
    let long: Vec<_> = gaps.iter().filter(|gap| length(gap) >= (end - start) / (WORTH * LONGER)).collect();
    let is_pause = |gap: &&&(Ns, Ns)| length(gap) >= (end - start) / WORTH;
    let until = long.iter().rev().filter(is_pause).find(|gap| {
        let (prefix, later) = (gap.1 - start, gaps.partition_point(|other| other.1 <= gap.1));
        let idle: Ns = gaps[..later].iter().map(length).sum();
        let paused = long.iter().filter(|other| other.1 <= gap.1 && length(other) >= length(gap) / LONGER);
        prefix >= SHORTEST
            && end - gap.1 >= (end - start) / REST
            && gaps.len() - later >= REPEATED
            && idle >= prefix / 100 * IDLE
            && paused.map(|gap| length(gap)).sum::<Ns>() >= prefix / 100 * PAUSED
            && gaps[later..].iter().map(length).max().unwrap_or(0) <= length(gap) / LONGER
    });
    until.map(|gap| (gap.1, end))
}

/// Fewest kernels that are loaded while a program starts: a choice.
const LOADS: usize = 16;

/// The time after the last kernel was loaded, if GPUs hardly work before that: a compiler builds what the first rounds need, one kernel after
/// the other. `loaded`: the moments at which kernels had been loaded, ns.
fn after_loads(trace: &Trace, loaded: &[Ns], (start, end): (Ns, Ns)) -> Option<(Ns, Ns)> {
    let last = loaded.iter().copied().max().filter(|_| loaded.len() >= LOADS)?;
    let gaps = gaps(trace, start);
    let later = gaps.partition_point(|gap| gap.1 <= last);
    let idle: Ns = gaps[..later].iter().map(length).sum();
    let is_start = last - start >= SHORTEST && end - last >= (end - start) / REST;
    (is_start && gaps.len() - later >= REPEATED && idle >= (last - start) / 100 * IDLE).then_some((last, end))
}

/// The times from `start` on in which no GPU works, in order.
fn gaps(trace: &Trace, start: Ns) -> Vec<(Ns, Ns)> {
    let mut ops: Vec<(Ns, Ns)> = trace.ops.start.iter().copied().zip(trace.ops.end.iter().copied()).collect();
    ops.sort_unstable();
    let mut done = start;
    let gap = |(from, to): (Ns, Ns)| {
        let gap = (done, from);
        done = done.max(to);
        (gap.0 < gap.1).then_some(gap)
    };
    ops.into_iter().filter_map(gap).collect()
}

fn length((start, end): &(Ns, Ns)) -> Ns {
    end - start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StepSource;
    use trace::{CallId, Op, Sym, ThreadId};

    const MS: Ns = 1_000_000;

    /// A trace whose GPU works for 1 ms after each of some pauses, ms, and what its steady part is.
    fn after(pauses: &[Ns]) -> Option<Ns> {
        let mut trace = Trace::default();
        let (mut now, mut last) = (0, 0);
        for pause in pauses {
            now += pause * MS;
            trace.ops.push(Op { start: now, end: now + MS, ..Op::default() });
            now += MS;
            last = now;
        }
        after_start_up(&trace, (0, last)).map(|(from, _)| from / MS)
    }

    #[test]
    fn what_is_loaded_while_a_gpu_hardly_works_is_start_up() {
        let mut trace = Trace::default();
        for at in 0..400 {
            trace.ops.push(Op { start: at * 10 * MS, end: at * 10 * MS + MS, ..Op::default() });
        }
        let steady = |loaded: &[Ns]| after_loads(&trace, loaded, (0, 4_000 * MS)).map(|(from, _)| from / MS);
        let loads = |count: Ns, every: Ns| (1..=count).map(|at| at * every * MS).collect::<Vec<Ns>>();
        assert_eq!(steady(&loads(20, 50)), Some(1_000));
        assert_eq!(steady(&loads(15, 50)), None, "control: few");
        assert_eq!(steady(&loads(20, 190)), None, "near miss: until nearly the end");
    }

    fn with(start: &[Ns], rest: impl IntoIterator<Item = Ns>) -> Vec<Ns> {
        start.iter().copied().chain(rest).collect()
    }

    #[test]
    fn a_start_up_is_longer_than_what_follows() {
        assert_eq!(after(&with(&[4_000], [4; 400])), Some(4_000));
        assert_eq!(after(&with(&[4_000], [4; 200])), None, "mostly start-up");
        assert_eq!(after(&with(&[4_000, 300, 80], [4; 400])), Some(4_382));
        assert_eq!(after(&with(&[10], [4; 200])), None, "as long as others");
        assert_eq!(after(&with(&[4_000], [4; 10])), None, "nothing repeats");
    }

    #[test]
    fn a_pause_in_the_middle_is_no_start_up() {
        let middle = || [4; 300].into_iter().chain([900]).chain([4; 300]);
        assert_eq!(after(&with(&[4_000], middle())), Some(4_000));
        assert_eq!(after(&with(&[40], middle())), None);
    }

    #[test]
    fn a_pause_before_the_last_result_is_the_end() {
        let ends = |middle: usize| [4].into_iter().cycle().take(middle).chain([300, 5]);
        assert_eq!(after(&with(&[400], ends(400))), Some(400));
        assert_eq!(after(&with(&[400], ends(400).chain([4; 100]))), None, "near miss: it goes on");
    }

    #[test]
    fn long_pauses_that_go_on_are_no_start_up() {
        let waves = (0..40).flat_map(|_| [400].into_iter().chain([2; 20]));
        assert_eq!(after(&with(&[900], waves)), None);
    }

    #[test]
    fn steps_are_the_steady_part_if_they_are_most_of_it() {
        let step = |at: Ns| FoundStep {
            start: at * MS,
            end: (at + 1) * MS,
            name: Sym::default(),
            thread: ThreadId::NONE,
            call: CallId::NONE,
            is_first: false,
        };
        let found = |steps| Found::new(String::new(), StepSource::Kernels, ThreadId::NONE, steps);
        let steps = found((10..20).map(step).collect());
        assert_eq!(of_steps(&steps, 22 * MS), Some((10 * MS, 20 * MS)));
        assert_eq!(of_steps(&steps, 40 * MS), None);
        assert_eq!(of_steps(&found(Vec::new()), 40 * MS), None);
    }
}
