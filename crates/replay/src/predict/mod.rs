//! Predicts the gains of changes.

pub(crate) mod ahead;
pub(crate) mod beside;
mod change;
pub(crate) mod faster;
pub(crate) mod fixes;
pub(crate) mod gains;
pub(crate) mod pauses;
pub(crate) mod processors;
pub(crate) mod ranking;
pub(crate) mod removed;
mod search;
pub(crate) mod spare;
pub(crate) mod untraced;

pub use change::{Change, fix, fixes};

use crate::fit::Fit;
use crate::predict::fixes::{Scene, more_cpus};
use crate::predict::processors::Processors;
use crate::predict::removed::Mending;
use crate::predict::spare::Spare;
use crate::retime::{began, covered, worked, write};
use crate::{Error, Recovered, retime};
use change::{apply, ids};
use explain::{Cause, Class, ThreadGain};
use rayon::prelude::*;
use serde::Serialize;
use sim::Replayed;
use std::sync::{Mutex, OnceLock, PoisonError};
use trace::{CallId, Ns, RangeId, Trace};
use waits::CallOrder;

/// The part of a gain that is not certain, whatever the fit: what models assume, and what nobody waited for in the trace.
const UNSURE: f64 = 0.2;

/// Uncertainty even of no gain, as a part of the time.
const FLOOR: f64 = 0.01;

/// A smaller gain is none, as a part of the time.
pub const LEAST: f64 = 0.005;

/// Where threads are awake without a processor for less time by this part, who has one is found anew.
const SPARED: f64 = 0.05;

/// One or several changes and what they would gain.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// The changes, as in `own-stream`.
    pub id: String,
    /// How many calls and operations they change.
    pub changes: usize,
    /// The time that the program, or the chosen ranges, take without them and without what the tracer adds, ns.
    pub before_ns: Ns,
    /// The time that they would take with them, ns.
    pub predicted_ns: Ns,
    /// Gain of the changes.
    pub gain: Gain,
    /// The thread that would be done earlier by most, with its operations, where that is more than the program gains: another thread
    /// takes as long as before, which in many programs only runs until this one is done.
    pub thread: Option<ThreadGain>,
    /// The cause that would cost GPUs most; `None` if they would be busy.
    pub next: Option<&'static str>,
    /// When it is safe.
    pub safety: String,
}

/// A part of the time before: more is better, a negative one is a loss.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Gain {
    /// The best guess.
    pub share: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// Part that a change takes once, when processes start and end; the others have it in them.
    pub once: f64,
}

/// So many predictions run at once at most: each has a copy of the program.
const AT_ONCE: usize = 8;

/// A changed program and its replay.
struct Ran {
    /// How many calls and operations were changed.
    changes: usize,
    changed: Recovered,
    replayed: Replayed,
    /// Whether threads take turns at the processors.
    in_turns: bool,
    /// The fix, if its effect is that what findings find is gone.
    fix: Option<Mending>,
}

/// A run of a search.
struct Best {
    /// The changes.
    id: String,
    /// Gain of these changes.
    share: f64,
    ran: Ran,
}

/// A program without what the tracer added, and its replay: what changes are applied to.
pub struct Bare<'a> {
    program: Recovered,
    /// The calls of threads.
    order: CallOrder<'a>,
    replayed: Replayed,
}

impl<'a> Bare<'a> {
    /// Takes off what the tracer added to a program, and replays the rest.
    ///
    /// # Errors
    /// The errors of [`Recovered::replay`].
    pub fn of(trace: &'a Trace, base: &Recovered) -> Result<Bare<'a>, Error> {
        let program = base.untraced(trace);
        let (replayed, order) = rayon::join(|| program.replay(), || CallOrder::new(trace));
        Ok(Bare { replayed: replayed?, program, order })
    }

    /// The replay of a program, and the program without what the tracer added, at once: each takes long.
    ///
    /// # Errors
    /// The errors of [`Recovered::replay`].
    pub fn beside_replay(trace: &'a Trace, base: &Recovered) -> Result<(Replayed, Bare<'a>), Error> {
        let (replayed, bare) = rayon::join(|| base.replay(), || Bare::of(trace, base));
        Ok((replayed?, bare?))
    }
}

/// Predictions from one trace.
pub struct Predictor<'a> {
    scene: Scene<'a>,
    /// The calls of threads.
    order: CallOrder<'a>,
    /// Copies of the program, and of its trace with other times, that no prediction uses now.
    programs: Spare<Recovered>,
    traces: Spare<Trace>,
    /// Where they are too few, the processors, and how long threads are awake without one in the replay without a change, ns.
    processors: Option<(Processors, Ns)>,
    /// The program without a change, whose threads take turns at these processors, and its replay.
    in_turns: OnceLock<Result<(Recovered, Replayed), Error>>,
    /// The best of the sets that a search has run: it is predicted next.
    best: Mutex<Option<Best>>,
    /// The replay without a change, and without what the tracer added.
    replayed: Replayed,
    fit: &'a Fit,
    /// The ranges whose time is predicted; none: all time is.
    ranges: Vec<RangeId>,
    /// The time of the trace whose operations' time is predicted, ns.
    window: Option<(Ns, Ns)>,
    /// Is called with what is predicted next.
    progress: &'a Progress<'a>,
    /// Cause that costs the GPUs most without a change.
    unchanged: OnceLock<Option<&'static str>>,
}

/// Is called with what is predicted next, from any thread.
pub type Progress<'a> = dyn Fn(&str) + Sync + 'a;

impl<'a> Predictor<'a> {
    /// Predicts from a trace whose replay fits. `progress` is called with what is predicted next.
    ///
    /// # Errors
    /// The errors of [`Recovered::replay`].
    pub fn new(
        trace: &'a Trace,
        base: &Recovered,
        fit: &'a Fit,
        progress: &'a Progress<'a>,
    ) -> Result<Predictor<'a>, Error> {
        Ok(Predictor::of(trace, Bare::of(trace, base)?, fit, progress))
    }

    /// Like [`Predictor::new`], but of a program that has been run already.
    pub fn of(trace: &'a Trace, bare: Bare<'a>, fit: &'a Fit, progress: &'a Progress<'a>) -> Predictor<'a> {
        let Bare { program, order, replayed } = bare;
        let processors = Processors::of(trace, &program);
        let beyond = |processors: Processors| (processors.beyond(&program, &replayed), processors);
        let processors = processors.map(beyond).map(|(beyond, processors)| (processors, beyond));
        Predictor {
            processors,
            in_turns: OnceLock::new(),
            scene: Scene::new(trace, program),
            order,
            programs: Spare::new(),
            traces: Spare::new(),
            best: Mutex::new(None),
            replayed,
            fit,
            ranges: Vec::new(),
            window: None,
            progress,
            unchanged: OnceLock::new(),
        }
    }

    /// Predicts the time within these ranges, which the fit has been compared by: [`Fit::within`].
    pub fn within(self, ranges: Vec<RangeId>) -> Predictor<'a> {
        Predictor { ranges, ..self }
    }

    /// Predicts the time from the first operation that starts in a window to the end of the last one.
    pub fn in_window(self, window: (Ns, Ns)) -> Predictor<'a> {
        Predictor { window: Some(window), ..self }
    }

    /// Uses a program's memory for predictions.
    pub fn reusing(self, program: Recovered) -> Self {
        self.programs.keep(program);
        self
    }

    /// Applies changes together and runs what comes of it. `None` if one of them changes nothing.
    ///
    /// # Errors
    /// The simulator refuses it.
    pub fn predict(&self, wanted: &[Change<'_>]) -> Result<Option<Prediction>, Error> {
        let id = ids(wanted);
        let ran = match self.take_best(&id) {
            Some(ran) => Some(ran),
            None => self.run(wanted, &id)?,
        };
        let Some(ran) = ran else { return Ok(None) };
        let (gain, thread) = self.gain_of(&ran);
        let next = match ran.fix {
            Some(fix) if self.replayed_share(&ran) < self.least(&ran) => fix.next,
            Some(_) | None if thread.is_none() && gain.share.abs() < LEAST => self.next_unchanged(),
            Some(_) | None => self.next(&ran.changed, &ran.replayed),
        };
        let safety: Vec<&str> = wanted.iter().filter_map(Change::safety).collect();
        let (changes, before_ns) = (ran.changes, self.before());
        let predicted_ns = (before_ns as f64 * (1.0 - gain.share)).round() as Ns;
        self.programs.keep(ran.changed);
        Ok(Some(Prediction {
            id,
            changes,
            before_ns,
            predicted_ns,
            gain,
            thread,
            next,
            safety: safety.join("; "),
        }))
    }

    /// Like [`Predictor::predict`], but for several sets of changes, several at a time.
    ///
    /// # Errors
    /// The errors of [`Predictor::predict`].
    pub fn predict_each(&self, wanted: &[Vec<Change<'_>>]) -> Result<Vec<Option<Prediction>>, Error> {
        each(wanted, |changes| self.predict(changes))
    }

    /// Like [`Predictor::predict`], but returns only the gain: explains nothing anew.
    ///
    /// # Errors
    /// The errors of [`Predictor::predict`].
    pub fn gain(&self, wanted: &[Change<'_>]) -> Result<Option<(Gain, Option<ThreadGain>)>, Error> {
        let Some(ran) = self.run(wanted, &ids(wanted))? else { return Ok(None) };
        let gain = self.gain_of(&ran);
        self.programs.keep(ran.changed);
        Ok(Some(gain))
    }

    /// Applies changes together and runs what comes of it; `None` if one of them changes nothing. Where threads waited for a processor while
    /// others polled, and are awake without one for less time with the changes, they take turns at the processors anew.
    fn run(&self, wanted: &[Change<'_>], id: &str) -> Result<Option<Ran>, Error> {
        (self.progress)(id);
        let Some(ran) = self.run_with(wanted, None)? else { return Ok(None) };
        let is_without = wanted.iter().any(|change| change.id() == more_cpus::FIX.id);
        let Some(processors) = self.spared(&ran).filter(|_| !is_without) else { return Ok(Some(ran)) };
        self.programs.keep(ran.changed);
        self.run_with(wanted, Some(processors))
    }

    /// Like [`Predictor::run`], but with threads that take turns at these processors.
    fn run_with(&self, wanted: &[Change<'_>], processors: Option<&Processors>) -> Result<Option<Ran>, Error> {
        let base = &self.scene.base;
        let mut changed = match self.programs.take() {
            Some(mut used) => {
                used.become_copy_of(base);
                used
            }
            None => base.clone(),
        };
        let fix = match wanted {
            [Change::Removed(removed)] => removed.fix(),
            _ => None,
        };
        let applied = apply(wanted, processors, &self.scene, &mut changed);
        // A replay need not have what a finding counts.
        let Some(changes) = applied.or_else(|| fix.filter(|fix| fix.cost >= LEAST).map(|fix| fix.count))
        else {
            self.programs.keep(changed);
            return Ok(None);
        };
        changed.synchronizes_shared(&self.scene);
        let replayed = changed.replay()?;
        if let Some(processors) = processors {
            self.without_change_in_turns(processors)?;
        }
        Ok(Some(Ran { changes, changed, replayed, in_turns: processors.is_some(), fix }))
    }

    /// The processors, if threads are awake without one for less time than without a change.
    fn spared(&self, ran: &Ran) -> Option<&Processors> {
        let (processors, before) = self.processors.as_ref().filter(|(_, before)| *before > 0)?;
        let spared = 1.0 - processors.beyond(&ran.changed, &ran.replayed) as f64 / *before as f64;
        (spared >= SPARED).then_some(processors)
    }

    /// The program without a change whose threads take turns at these processors, and its replay.
    fn without_change_in_turns(&self, processors: &Processors) -> Result<&(Recovered, Replayed), Error> {
        let run = || {
            let mut program = self.scene.base.clone();
            processors.take_turns(&self.scene, &mut program);
            let replayed = program.replay()?;
            Ok((program, replayed))
        };
        self.in_turns.get_or_init(run).as_ref().map_err(Clone::clone)
    }

    /// The program without a change that one with changes is compared with, and its replay.
    fn unchanged_beside(&self, ran: &Ran) -> (&Recovered, &Replayed) {
        match self.in_turns.get().filter(|_| ran.in_turns) {
            Some(Ok((program, replayed))) => (program, replayed),
            _ => (&self.scene.base, &self.replayed),
        }
    }

    /// Gain of a run, and the thread that gains more.
    fn gain_of(&self, ran: &Ran) -> (Gain, Option<ThreadGain>) {
        let (base, replayed) = self.unchanged_beside(ran);
        let before = self.judged(base, replayed);
        let share = self.replayed_share(ran).max(self.least(ran));
        let turns_differ = (before - self.before()).abs() as f64 / self.before().max(1) as f64;
        let reach = self.fit.error.max(turns_differ) + UNSURE * share.abs() + FLOOR;
        let thread = self.thread(ran);
        // No thread makes up for a loss of the program.
        let thread = thread.filter(|thread| thread.share > share + reach && share + reach > 0.0);
        let high = share.max(thread.as_ref().map_or(share, |of| of.share)) + reach;
        let once = if self.ranges.is_empty() && self.window.is_none() {
            ran.changed.once as f64 / before.max(1) as f64
        } else {
            0.0
        };
        // It may take twice as long: with 16 queues, three of six runs of seed 000's program took 0.3 s more than the others (H100).
        (Gain { share, low: share - reach - once, high: high.min(1.0), once }, thread)
    }

    /// Gain of a run by its replay, as a part of the time.
    fn replayed_share(&self, ran: &Ran) -> f64 {
        let (base, replayed) = self.unchanged_beside(ran);
        let (before, after) = (self.judged(base, replayed), self.judged(&ran.changed, &ran.replayed));
        (before - after) as f64 / before.max(1) as f64
    }

    /// The least gain of a fix: the time for which the GPUs were idle because of what it mends. A loss is none of less.
    fn least(&self, ran: &Ran) -> f64 {
        let cost = ran.fix.filter(|_| self.ranges.is_empty()).map(|fix| fix.cost * fix.of_ns as f64);
        cost.map_or(f64::NEG_INFINITY, |cost_ns| (cost_ns / self.before().max(1) as f64).min(1.0))
    }

    /// The time without a change, ns.
    fn before(&self) -> Ns {
        self.judged(&self.scene.base, &self.replayed)
    }

    /// The time that a change is judged by, ns.
    fn judged(&self, changed: &Recovered, replayed: &Replayed) -> Ns {
        match self.window {
            Some(window) => {
                worked(self.scene.trace, changed, replayed, window).map_or(0, |(start, end)| end - start)
            }
            None if self.ranges.is_empty() => changed.wall(replayed),
            None => covered(self.scene.trace, changed, replayed, &self.ranges),
        }
    }

    /// The trace that the program would leave with these changes; without any, that of the replay. `None` if one of them changes
    /// nothing.
    ///
    /// # Errors
    /// The errors of [`Predictor::predict`].
    pub fn trace(&self, wanted: &[Change<'_>]) -> Result<Option<Trace>, Error> {
        let ran = self.run(wanted, "accounts and timelines")?;
        Ok(ran.map(|ran| retime(self.scene.trace, &ran.changed, &ran.replayed)))
    }

    /// The trace that predictions are of.
    pub fn recorded(&self) -> &'a Trace {
        self.scene.trace
    }

    /// When what predictions are of begins in a replay, ns from its start.
    fn begins(&self, changed: &Recovered, replayed: &Replayed) -> Ns {
        match self.window {
            Some(window) => worked(self.scene.trace, changed, replayed, window).map_or(0, |(start, _)| start),
            None => began(self.scene.trace, changed, replayed, &self.ranges),
        }
    }

    /// The thread that is done earlier by most, from the start of the window or the ranges, if there are any. It is done when it has its last
    /// result: what it frees and destroys after that may wait for others.
    fn thread(&self, ran: &Ran) -> Option<ThreadGain> {
        let ((base, unchanged), trace) = (self.unchanged_beside(ran), self.scene.trace);
        let counts = |call: CallId| !matches!(self.scene.class(call), Class::Release | Class::Create);
        let done = |of: &Recovered, replayed: &Replayed| -> Vec<Option<Ns>> {
            let from = self.begins(of, replayed);
            (0..base.threads.len()).map(|row| Some((of.done(replayed, row, counts)? - from).max(0))).collect()
        };
        let (before, after) = (done(base, unchanged), done(&ran.changed, &ran.replayed));
        let earlier = |row: usize| Some((before[row]? - after[row]?, base.threads[row]?));
        let (ns, thread) = (0..before.len()).filter_map(earlier).max_by_key(|(ns, _)| *ns)?;
        let of = trace.threads.row(thread);
        let pid = of.process.some().map_or(0, |process| trace.processes.pid[process.index()]);
        Some(ThreadGain { pid, tid: of.tid, share: ns as f64 / self.judged(base, unchanged).max(1) as f64 })
    }

    /// The run that is kept, if it is of these changes.
    fn take_best(&self, id: &str) -> Option<Ran> {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        best.take_if(|best| best.id == id).map(|best| best.ran)
    }

    /// Cause that costs the GPUs most without a change.
    fn next_unchanged(&self) -> Option<&'static str> {
        *self.unchanged.get_or_init(|| self.next(&self.scene.base, &self.replayed))
    }

    /// The cause of the finding that costs the GPUs most in a replay.
    fn next(&self, changed: &Recovered, replayed: &Replayed) -> Option<&'static str> {
        let trace = self.scene.trace;
        let mut new = self.traces.take().unwrap_or_else(|| trace.clone());
        write(trace, &self.order, changed, replayed, &mut new);
        let cause = explain::first_cause(&new, &explain::Options::default());
        self.traces.keep(new);
        cause.map(Cause::id)
    }
}

/// Results of some sets of changes, several at a time, in order.
fn each<S: Sync, R: Send>(
    sets: &[S],
    run: impl Fn(&S) -> Result<Option<R>, Error> + Sync,
) -> Result<Vec<Option<R>>, Error> {
    let mut all = Vec::new();
    let at_once = if rayon::current_num_threads() <= AT_ONCE { sets.len().max(1) } else { AT_ONCE };
    for some in sets.chunks(at_once) {
        // Each takes long: no core gets two while another one waits.
        let given: Result<Vec<Option<R>>, Error> = some.par_iter().with_max_len(1).map(&run).collect();
        all.extend(given?);
    }
    Ok(all)
}
