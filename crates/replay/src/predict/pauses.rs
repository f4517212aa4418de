//! The time of threads outside calls, shortened by what would be left of its samples.

use crate::predict::fixes::Scene;
use crate::{Recovered, StepOf};
use explain::{Depth, SAMPLE, weights};
use rustc_hash::FxHashMap;
use trace::{Ns, Sym, ThreadId, Trace};

/// Shortens pauses by what would be left of their samples, by the samples' numbers. Pauses of a thread between calls of the same names
/// share their samples: most are too short to have one. Returns how many pauses changed, and the places that these samples are at.
pub(crate) fn shorten(
    left: impl Fn(usize) -> Remainder,
    scene: &Scene<'_>,
    to: &mut Recovered,
) -> (usize, u64) {
    let samples = Samples::of(scene.trace, left);
    let (mut changed, mut met) = (0, 0);
    for row in 0..to.steps.len() {
        let Some(thread) = to.threads[row] else { continue };
        let pauses = pauses(scene, row);
        let mut found: FxHashMap<[Sym; 2], Pool> = FxHashMap::default();
        for (at, between) in &pauses {
            let [from, until] = [*at, at + 1].map(|at| to.begins[row][at] + to.start);
            found.entry(*between).or_default().add(samples.within(thread, from, until));
        }
        let left: FxHashMap<[Sym; 2], Remainder> =
            found.into_iter().map(|(between, pool)| (between, pool.together())).collect();
        for (at, between) in pauses {
            let Remainder { part, places } = left[&between];
            let Some(ns) = to.recorded.threads[row][at].host_mut() else { continue };
            if places != 0 {
                *ns -= (*ns as f64 * (1.0 - part)) as Ns;
                met |= places;
                changed += 1;
            }
        }
    }
    (changed, met)
}

/// Part of the time of a sample, or of all of them, that would be left.
#[derive(Clone, Copy)]
pub(crate) struct Remainder {
    /// Of its time.
    pub part: f64,
    /// A bit for each place that its stack is at; none where nothing changes.
    pub places: u64,
}

/// The samples of pauses that are alike, and how many of these have any.
#[derive(Default)]
struct Pool {
    samples: Vec<(Depth, Remainder)>,
    sampled: usize,
}

impl Pool {
    /// Adds those of a pause.
    fn add(&mut self, samples: impl Iterator<Item = (Depth, Remainder)>) {
        let before = self.samples.len();
        self.samples.extend(samples);
        self.sampled += usize::from(self.samples.len() > before);
    }

    /// Their mean, each with its weight.
    fn together(mut self) -> Remainder {
        self.samples.sort_by_key(|(depth, _)| *depth);
        let depths: Vec<Depth> = self.samples.iter().map(|(depth, _)| *depth).collect();
        let weights = weights(&depths, self.sampled);
        let weighted = weights.iter().zip(&self.samples);
        let part: f64 = weighted.map(|(weight, (_, left))| *weight as f64 * left.part).sum();
        let all = (self.samples.len() as u64 * SAMPLE).max(1) as f64;
        let places = self.samples.iter().fold(0, |places, (_, left)| places | left.places);
        Remainder { part: part / all, places }
    }
}

/// The pauses of a thread: the step, and the names of the calls before and after it.
fn pauses(scene: &Scene<'_>, row: usize) -> Vec<(usize, [Sym; 2])> {
    let (mut pauses, mut open, mut last) = (Vec::new(), 0, Sym::EMPTY);
    for (at, step) in scene.base.steps[row].iter().enumerate() {
        match step {
            StepOf::Outside => pauses.push((at, [last, Sym::EMPTY])),
            StepOf::Call(call) => {
                last = scene.trace.calls.name[call.index()];
                pauses[open..].iter_mut().for_each(|(_, between)| between[1] = last);
                open = pauses.len();
            }
            StepOf::Part
            | StepOf::Wait(_)
            | StepOf::Ends(_)
            | StepOf::Takes
            | StepOf::Leaves
            | StepOf::Issues(_) => {}
        }
    }
    pauses
}

/// The samples of each thread, in order: when, and what would be left of them.
struct Samples(FxHashMap<ThreadId, Vec<(Ns, Remainder)>>);

impl Samples {
    fn of(trace: &Trace, left: impl Fn(usize) -> Remainder) -> Samples {
        let mut samples: FxHashMap<ThreadId, Vec<(Ns, Remainder)>> = FxHashMap::default();
        for at in 0..trace.samples.len() {
            samples.entry(trace.samples.thread[at]).or_default().push((trace.samples.at[at], left(at)));
        }
        samples.values_mut().for_each(|samples| samples.sort_by_key(|(at, _)| *at));
        Samples(samples)
    }

    /// A thread's samples in a pause, with the part of it that was over.
    fn within(&self, thread: ThreadId, from: Ns, until: Ns) -> impl Iterator<Item = (Depth, Remainder)> {
        let samples = self.0.get(&thread).map_or(&[][..], Vec::as_slice);
        let [first, end] = [from, until].map(|moment| samples.partition_point(|(at, _)| *at < moment));
        samples[first..end.max(first)].iter().map(move |(at, left)| (Depth::at(*at, from, until), *left))
    }
}
