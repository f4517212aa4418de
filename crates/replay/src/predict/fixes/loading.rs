//! Pauses in which a library is loaded.

use super::Scene;
use crate::StepOf;
use explain::{Class, place_of_stack};
use rustc_hash::FxHashMap;
use sim::RecordedStep;
use std::collections::{BTreeMap, BTreeSet};
use trace::{CallId, Ns, StackId, ThreadId, Trace};

/// Shorter first uses, and pauses between them, stay where they are, ns.
pub(super) const LEAST: Ns = 100_000;

/// Shorter pauses before a single call that sets something up stay where they are, ns.
const LEAST_ALONE: Ns = 1_000_000;

/// The line of a call without a stack is that of one of so many steps after it, and a library goes on being loaded for so many steps: the
/// quick calls of a library that begins have no stack.
const SOON: usize = 64;

/// A line of the program: file and number.
type Line = (String, u32);

/// The pauses in which a library is loaded, by thread and step. Each of them
///
/// - ends with a call that sets something up, and most of its samples are at the line that made this call; or
/// - lies between two calls that load something for the same line, soon after each other, and so do most of the samples in such pauses of
///   this line. A pause of less than 10 ms often has no sample of its own.
pub(super) fn loading(scene: &Scene<'_>, is_first_use: impl Fn(CallId) -> bool) -> BTreeSet<(usize, usize)> {
    let samples = Samples::of(scene.trace);
    let mut found = BTreeSet::new();
    let mut between: BTreeMap<Line, Between> = BTreeMap::new();
    for row in 0..scene.base.steps.len() {
        let thread = Thread { scene, samples: &samples, row };
        found.extend(thread.alone().map(|at| (row, at)));
        thread.between(&is_first_use, &mut between);
    }
    let by_line = between.into_values().filter(|of| 2 * of.at_line > of.samples);
    found.extend(by_line.flat_map(|of| of.pauses));
    found
}

/// Pauses between calls that load something for one line, and the samples in them.
#[derive(Default)]
struct Between {
    /// Pauses whose samples do not say otherwise.
    pauses: Vec<(usize, usize)>,
    samples: usize,
    at_line: usize,
}

/// The steps of a thread.
struct Thread<'a> {
    scene: &'a Scene<'a>,
    samples: &'a Samples<'a>,
    row: usize,
}

impl Thread<'_> {
    /// Pauses before a call that sets something up.
    fn alone(&self) -> impl Iterator<Item = usize> + '_ {
        let sets_up = |call: CallId| self.loads(call) || self.scene.class(call) == Class::Create;
        let steps = &self.scene.base.steps[self.row];
        (0..steps.len().saturating_sub(1)).filter(move |at| {
            let StepOf::Call(call) = steps[at + 1] else { return false };
            self.pause(*at) >= LEAST_ALONE
                && sets_up(call)
                && self.line(at + 1).is_some_and(|line| {
                    let (samples, at_line) = self.sampled(*at, &line);
                    2 * at_line > samples
                })
        })
    }

    /// Adds the pauses between calls that load something for the same line.
    fn between(&self, is_first_use: impl Fn(CallId) -> bool, found: &mut BTreeMap<Line, Between>) {
        let mut last: Option<(usize, Line)> = None;
        for (at, of) in self.scene.base.steps[self.row].iter().enumerate() {
            let StepOf::Call(call) = *of else { continue };
            if !self.loads(call) && !is_first_use(call) {
                continue;
            }
            let line = self.line(at);
            if let (Some((before, of)), Some(line)) = (&last, &line)
                && of == line
                && at - before <= SOON
            {
                let found = found.entry(line.clone()).or_default();
                for pause in (*before..at).filter(|at| self.pause(*at) >= LEAST) {
                    let (samples, at_line) = self.sampled(pause, line);
                    (found.samples, found.at_line) = (found.samples + samples, found.at_line + at_line);
                    found.pauses.extend((samples == 0 || 2 * at_line > samples).then_some((self.row, pause)));
                }
            }
            last = line.map(|line| (at, line));
        }
    }

    fn loads(&self, call: CallId) -> bool {
        self.scene.class(call) == Class::Load || self.scene.name(call) == "cuInit"
    }

    /// How long a step is, ns, if it is a pause; else 0.
    fn pause(&self, at: usize) -> Ns {
        match (self.scene.base.steps[self.row][at], self.scene.base.recorded.threads[self.row][at]) {
            (StepOf::Outside, RecordedStep::Host(ns)) => ns,
            _ => 0,
        }
    }

    /// The line that made the call of a step.
    fn line(&self, at: usize) -> Option<Line> {
        let trace = self.scene.trace;
        let mut soon = self.scene.base.steps[self.row][at..].iter().take(SOON);
        let stack = soon.find_map(|step| match step {
            StepOf::Call(call) => trace.calls.stack[call.index()].some(),
            _ => None,
        });
        line_of_stack(trace, stack?)
    }

    /// How many samples there are in a pause, and how many of them are at this line.
    fn sampled(&self, at: usize, line: &Line) -> (usize, usize) {
        let Some(thread) = self.scene.base.threads[self.row] else { return (0, 0) };
        let from = self.scene.base.begins[self.row][at] + self.scene.base.start;
        let samples = self.samples.within(thread, from, from + self.pause(at));
        let is_there = |(_, stack): &&(Ns, StackId)| {
            line_of_stack(self.samples.trace, *stack).is_some_and(|of| of == *line)
        };
        (samples.len(), samples.iter().filter(is_there).count())
    }
}

fn line_of_stack(trace: &Trace, stack: StackId) -> Option<Line> {
    let place = place_of_stack(trace, stack).filter(|place| place.line > 0)?;
    Some((place.file, place.line))
}

/// The samples of each thread, by time.
struct Samples<'a> {
    trace: &'a Trace,
    of: FxHashMap<ThreadId, Vec<(Ns, StackId)>>,
}

impl Samples<'_> {
    fn of(trace: &Trace) -> Samples<'_> {
        let mut of: FxHashMap<ThreadId, Vec<(Ns, StackId)>> = FxHashMap::default();
        for at in 0..trace.samples.len() {
            let sample = (trace.samples.at[at], trace.samples.stack[at]);
            of.entry(trace.samples.thread[at]).or_default().push(sample);
        }
        of.values_mut().for_each(|samples| samples.sort_unstable());
        Samples { trace, of }
    }

    fn within(&self, thread: ThreadId, from: Ns, until: Ns) -> &[(Ns, StackId)] {
        let Some(samples) = self.of.get(&thread) else { return &[] };
        let [first, end] = [from, until].map(|moment| samples.partition_point(|(at, _)| *at < moment));
        &samples[first..end]
    }
}
