//! The runs of variants that take turns: each round runs each variant once.
//!
//! Half of the rounds run them in the reversed order, in the sequence of `prove`: what drifts favours none, and two rounds of any
//! two variants are a block that its judge takes. A variant that fails ends the session at its warm-up, before any round.

use super::execution::{Execute, Failure, Progress, Run, Want};
use super::measure::{averages_of, rounds_of, rows};
use crate::experiment::{Experiment, Reading, Variant};
use crate::results::{Figure, Row};
use std::sync::atomic::{AtomicBool, Ordering};
use trace::Trace;

/// How often variants run.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// First runs of a variant that do not count.
    pub warm_ups: u32,
    /// Runs of a variant that count.
    pub rounds: u32,
    /// Whether the best round counts instead of the median.
    pub best: bool,
    /// Whether they run on a model, which measures calls always and at no cost.
    pub simulated: bool,
}

/// Runs that a variant still has to make.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// The first round that it lacks, and the number of them.
    first: u32,
    rounds: u32,
    /// Whether the mean times of its calls need a run of their own.
    averages: bool,
    /// Whether it runs once more for a trace.
    trace: bool,
}

impl Left {
    /// Runs that are left of a variant after an earlier run that has these rows of it. Rows without samples count as complete.
    pub fn after(experiment: &Experiment, variant: &Variant, rows: &[Row], times: Times) -> Left {
        let known = rounds_of(experiment, variant, rows).len() as u32;
        let is_new = rows.is_empty();
        let rounds = if is_new || known > 0 { times.rounds.saturating_sub(known) } else { 0 };
        let has_averages =
            experiment.call_times().any(|column| rows.iter().any(|row| row.figure(column.name).is_some()));
        let averages = variant.averages && !times.simulated && (is_new || known > 0) && !has_averages;
        Left { first: known, rounds, averages, trace: false }
    }

    /// Whether nothing is left.
    pub fn is_nothing(self) -> bool {
        self.rounds == 0 && !self.averages && !self.trace
    }

    /// The number of runs.
    fn runs(self, times: Times) -> u64 {
        let warm_ups = if self.rounds > 0 { times.warm_ups } else { 0 };
        u64::from(warm_ups) + u64::from(self.rounds) + u64::from(self.averages) + u64::from(self.trace)
    }
}

/// A variant, and what its runs gave.
pub(super) struct Turn<'v> {
    pub variant: &'v Variant,
    /// The rows of an earlier run.
    earlier: Vec<Row>,
    /// Runs that it had to make at first.
    todo: Left,
    /// Runs that are left.
    left: Left,
    /// The rounds that were measured, those of an earlier run first.
    rounds: Vec<Vec<Reading>>,
    averages: Vec<(&'static str, f64)>,
    pub trace: Option<Trace>,
    pub notes: Vec<String>,
    /// Why the device cannot run it.
    pub impossible: Option<String>,
}

impl<'v> Turn<'v> {
    /// A variant that has those rows of an earlier run.
    pub fn new(
        experiment: &Experiment,
        variant: &'v Variant,
        earlier: Vec<Row>,
        is_traced: bool,
        times: Times,
    ) -> Turn<'v> {
        let left = Left::after(experiment, variant, &earlier, times);
        let left = Left { trace: is_traced && !left.is_nothing(), ..left };
        let rounds = rounds_of(experiment, variant, &earlier);
        let call_times = experiment.call_times().map(|column| column.name);
        let average = |name| Some((name, earlier.first()?.figure(name)?.value));
        let averages = call_times.filter_map(average).collect();
        let (trace, notes, impossible) = (None, Vec::new(), None);
        Turn { variant, earlier, todo: left, left, rounds, averages, trace, notes, impossible }
    }

    /// Whether anything was measured.
    pub fn has_run(&self) -> bool {
        self.left != self.todo
    }

    /// Whether it has rows but lacks runs.
    pub fn is_incomplete(&self) -> bool {
        self.impossible.is_none() && self.has_rows() && !self.left.is_nothing()
    }

    /// Whether it was not run.
    pub fn is_missing(&self) -> bool {
        self.impossible.is_none() && !self.has_rows()
    }

    fn has_rows(&self) -> bool {
        !self.earlier.is_empty() || !self.rounds.is_empty()
    }

    /// Its rows. Those of an earlier run stay as they are if nothing was added.
    pub fn rows(&self, experiment: &Experiment, times: Times) -> Vec<Row> {
        if !self.has_run() {
            return self.earlier.clone();
        }
        let mut rows = rows(experiment, self.variant, &self.rounds, times.best);
        if let Some(row) = rows.first_mut() {
            row.figures.extend(self.averages.iter().map(|(name, value)| Figure::new(name, *value, None)));
        }
        rows
    }
}

/// Runs workloads for a session, reports progress, and stops when it is interrupted.
pub(super) struct Runs<'a, 'e> {
    pub experiment: &'static Experiment,
    pub execute: &'a mut Execute<'e>,
    pub interrupted: &'a AtomicBool,
    pub progress: &'a mut dyn FnMut(&Progress),
    done: u64,
    total: u64,
}

impl<'a, 'e> Runs<'a, 'e> {
    pub fn new(
        experiment: &'static Experiment,
        execute: &'a mut Execute<'e>,
        interrupted: &'a AtomicBool,
        progress: &'a mut dyn FnMut(&Progress),
    ) -> Runs<'a, 'e> {
        Runs { experiment, execute, interrupted, progress, done: 0, total: 0 }
    }

    /// Runs all that is left of the variants: warm-ups, rounds in turn, then calls' times and traces, which would disturb rounds.
    ///
    /// # Errors
    /// The reason that ended it early; results measured before are in `turns`.
    pub fn all(&mut self, turns: &mut [Turn<'_>], times: Times) -> Result<(), Failure> {
        self.total = turns.iter().map(|turn| turn.left.runs(times)).sum();
        for _ in 0..times.warm_ups {
            for turn in turns.iter_mut().filter(|turn| turn.left.rounds > 0) {
                self.once(turn, Want::default(), times)?;
            }
        }
        for round in 0..times.rounds {
            self.round(round, turns, times)?;
        }
        for turn in turns.iter_mut() {
            if turn.left.averages
                && let Some(run) = self.once(turn, Want { timed: true, ..Want::default() }, times)?
            {
                turn.averages = averages_of(self.experiment, &run.outcome);
                turn.left.averages = false;
            }
        }
        for turn in turns.iter_mut() {
            if turn.left.trace
                && let Some(run) =
                    self.once(turn, Want { timed: true, trace: true, contention: None }, times)?
            {
                turn.notes.extend(run.notes);
                turn.trace = run.trace;
                turn.left.trace = false;
            }
        }
        Ok(())
    }

    /// Runs once each variant that lacks the round.
    fn round(&mut self, round: u32, turns: &mut [Turn<'_>], times: Times) -> Result<(), Failure> {
        let count = turns.len();
        for place in 0..count {
            let at = if prove::Plan::is_reversed(round as usize) { count - 1 - place } else { place };
            let turn = &mut turns[at];
            if turn.left.rounds == 0 || round < turn.left.first {
                continue;
            }
            let Some(run) = self.once(turn, Want::default(), times)? else { continue };
            turn.rounds.push((turn.variant.read)(&run.outcome));
            turn.left.first += 1;
            turn.left.rounds -= 1;
            if turn.variant.averages && times.simulated {
                turn.averages = averages_of(self.experiment, &run.outcome);
            }
            turn.notes.extend(run.notes);
        }
        Ok(())
    }

    /// Runs a variant once; `None` if the device cannot run it.
    fn once(&mut self, turn: &mut Turn<'_>, want: Want, times: Times) -> Result<Option<Run>, Failure> {
        if turn.impossible.is_some() {
            return Ok(None);
        }
        let variant = turn.variant;
        (self.progress)(&Progress { done: self.done, total: self.total, variant: variant.label() });
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::Stopped(String::from("interrupted")));
        }
        let want = Want { timed: want.timed || variant.timed, contention: variant.contention, ..want };
        match (self.execute)(&variant.workload, want) {
            Ok(Run { stopped: Some(why), .. }) => Err(Failure::Stopped(why)),
            Ok(run) => {
                self.done += 1;
                Ok(Some(run))
            }
            Err(Failure::Impossible(why)) => {
                turn.impossible = Some(why);
                self.done += turn.left.runs(times);
                Ok(None)
            }
            Err(Failure::Failed(why)) => {
                Err(Failure::Failed(format!("{}, {}: {why}", self.experiment.name, variant.label())))
            }
            Err(stopped) => Err(stopped),
        }
    }
}
