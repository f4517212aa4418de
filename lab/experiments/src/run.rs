//! Running an experiment: every variant, once for nothing and then in rounds.

use crate::experiment::{Bench, Experiment, Reading, Relation, Variant, Varied};
use crate::results::{Figure, Partial, Results, Row, Unit};
use crate::together::Part;
use crate::{Cell, Settings, calls};
use std::sync::atomic::{AtomicBool, Ordering};
use trace::Trace;
use workload::{Outcome, Workload};

/// What is wanted of a run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What is set, each `NAME=VALUE,VALUE`.
    pub set: Vec<String>,
    /// How often each variant is run; unless said, as often as the experiment says.
    pub rounds: Option<u32>,
    /// Run only the variants that are as all of these say, by column and value.
    pub only: Vec<(String, String)>,
    /// Whether each variant is run once more for its trace.
    pub traces: bool,
}

/// One run of a workload.
pub struct Run {
    /// What was measured.
    pub outcome: Outcome,
    /// What happened, where that was asked for.
    pub trace: Option<Trace>,
    /// Why it was stopped before its end, if it was.
    pub stopped: Option<String>,
    /// What a reader of the figures should know, a line each.
    pub notes: Vec<String>,
}

/// Why a workload was not run.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The device cannot do such a thing: the variant is left out.
    Impossible(String),
    /// Something failed: nothing more is run.
    Failed(String),
    /// Somebody wanted it to end.
    Stopped(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Impossible(why) | Failure::Failed(why) | Failure::Stopped(why) => to.write_str(why),
        }
    }
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Runs that are done.
    pub done: u64,
    /// Runs in all.
    pub total: u64,
    /// The variant that is running.
    pub variant: String,
}

/// What is wanted of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// The times of calls.
    pub timed: bool,
    /// A trace.
    pub trace: bool,
    /// [`Variant::contention`].
    pub contention: Option<u32>,
}

/// Runs a workload.
pub type Execute<'a> = dyn FnMut(&Workload, Want) -> Result<Run, Failure> + 'a;

/// What is going to be run, and where.
pub struct Session {
    experiment: &'static Experiment,
    bench: Bench,
    settings: Settings,
    variants: Vec<Variant>,
    /// What those were chosen by; others are there for being compared with.
    only: Vec<(String, String)>,
    left_out: Vec<String>,
    rounds: u32,
    traces: bool,
    /// What an earlier run measured, which is not run again.
    earlier: Option<Results>,
}

impl Session {
    /// The variants that a request makes of an experiment on a device.
    ///
    /// # Errors
    /// A line that says what cannot be set, or that nothing is left to run.
    pub fn new(experiment: &'static Experiment, bench: Bench, request: &Request) -> Result<Session, String> {
        let settings = Settings::new(experiment.name, experiment.parameters, &request.set)?;
        let plan = (experiment.variants)(&settings, &bench);
        let plan = plan.map_err(|problem| format!("{}: {problem}", experiment.name))?;
        let variants = chosen(plan.variants, &request.only, experiment).map_err(|problem| {
            match plan.left_out.first() {
                Some(reason) => format!("{problem} ({reason})"),
                None => problem,
            }
        })?;
        let rounds = if bench.simulated { 1 } else { request.rounds.unwrap_or(experiment.rounds).max(1) };
        let (left_out, only, traces) = (plan.left_out, request.only.clone(), request.traces);
        Ok(Session { experiment, bench, settings, variants, only, left_out, rounds, traces, earlier: None })
    }

    /// Takes what an earlier run of the experiment on the same device measured: only what it has no rows of is run.
    ///
    /// # Errors
    /// Why the two do not go together, in a line.
    pub fn resume(mut self, earlier: Results) -> Result<Session, String> {
        let here = Part { experiment: self.experiment, bench: &self.bench, settings: &self.settings };
        here.goes_on_with(earlier.part())?;
        self.earlier = Some(earlier);
        Ok(self)
    }

    /// The names of the variants that are to be run.
    pub fn labels(&self) -> Vec<String> {
        self.to_be_run().map(Variant::label).collect()
    }

    /// The names of those of them that were chosen: whose traces there will be, where those were asked for.
    pub fn chosen(&self) -> Vec<String> {
        self.to_be_run().filter(|variant| variant.matches(&self.only)).map(Variant::label).collect()
    }

    /// What files of the chosen variants are called besides the name that all share: what tells each from the others,
    /// `depth-first-pinned`; nothing where there is one.
    pub fn file_names(&self) -> Vec<String> {
        let chosen: Vec<&Variant> = self.to_be_run().filter(|variant| variant.matches(&self.only)).collect();
        let mut names: Vec<String> = Vec::new();
        for variant in &chosen {
            let varies = |(at, (_, cell)): (usize, &(&'static str, Cell))| {
                let others = chosen.iter().filter_map(|other| other.varied.get(at));
                others.into_iter().any(|(_, other)| other != cell)
            };
            let varied = variant.varied.iter().enumerate().filter(|pair| varies(*pair)).map(|(_, pair)| pair);
            let name = file_name(varied);
            let count = names.iter().filter(|other| **other == name).count();
            names.push(if count > 0 { format!("{name}-{}", names.len() + 1) } else { name });
        }
        names
    }

    fn to_be_run(&self) -> impl Iterator<Item = &Variant> {
        let rows = self.earlier.iter().flat_map(|earlier| &earlier.rows);
        self.variants.iter().filter(move |variant| !rows.clone().any(|row| row.is(&variant.varied)))
    }

    /// Runs them one after another, each once for nothing and then in rounds; a model needs neither.
    ///
    /// # Errors
    /// A line that says why nothing at all was measured. What ends it later is no error: what was measured before is there,
    /// and [`Results::partial`] says what ended it.
    pub fn run(
        self,
        execute: &mut Execute<'_>,
        interrupted: &AtomicBool,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Results, String> {
        let warm_ups = u32::from(self.experiment.warm_up && !self.bench.simulated);
        let rounds = self.rounds;
        let (traces, only) = (self.traces, self.only.clone());
        let is_traced = |variant: &Variant| traces && variant.matches(&only);
        let simulated = self.bench.simulated;
        let more = |variant: &Variant| variant.averages && !simulated;
        let runs = |variant: &Variant| {
            u64::from(warm_ups + rounds) + u64::from(is_traced(variant)) + u64::from(more(variant))
        };
        let total = self.to_be_run().map(runs).sum();
        let (mut results, variants, mut earlier) = self.begin();
        let known = earlier.len();
        let best = results.settings.takes_best();
        let (mut done, mut impossible) = (0, Impossible::default());
        for variant in &variants {
            let before = results.rows.len();
            results.rows.extend(earlier.extract_if(.., |row| row.is(&variant.varied)));
            if results.rows.len() > before {
                continue;
            }
            if let Some(partial) = &mut results.partial {
                partial.missing += 1;
                continue;
            }
            let mut at = Progress { done, total, variant: variant.label() };
            done += runs(variant);
            let mut execute = |want| {
                progress(&at);
                at.done += 1;
                if interrupted.load(Ordering::Relaxed) {
                    return Err(Failure::Stopped(String::from("interrupted")));
                }
                let run = execute(&variant.workload, want)?;
                run.stopped.clone().map_or(Ok(run), |why| Err(Failure::Stopped(why)))
            };
            let times = Times { warm_ups, rounds, best, trace: is_traced(variant), simulated };
            let why = match measure(variant, &times, &mut execute) {
                Ok(measured) => {
                    results.add(variant, measured);
                    continue;
                }
                Err(Failure::Impossible(why)) => {
                    impossible.add(why, variant);
                    continue;
                }
                Err(Failure::Stopped(why)) if results.rows.is_empty() && earlier.is_empty() => {
                    format!("{why} before anything was measured")
                }
                Err(Failure::Stopped(why)) => why,
                Err(Failure::Failed(why)) => {
                    format!("{}, {}: {why}", results.experiment.name, variant.label())
                }
            };
            results.partial = Some(Partial { why, missing: 1, of: variants.len() });
        }
        results.rows.extend(earlier);
        if known > 0 && results.rows.len() > known {
            results.are_of_several_runs();
        }
        results.left_out.extend(impossible.lines());
        results.end()
    }

    /// The results before anything was run, what is to be there, and the rows of it that an earlier run has.
    fn begin(self) -> (Results, Vec<Variant>, Vec<Row>) {
        let mut results = Results {
            experiment: self.experiment,
            bench: self.bench,
            settings: self.settings,
            rounds: self.rounds,
            rows: Vec::new(),
            left_out: self.left_out,
            notes: Vec::new(),
            partial: None,
            traced: self.traces,
            traces: Vec::new(),
        };
        let rows = self.earlier.map(|earlier| results.take(earlier)).unwrap_or_default();
        (results, self.variants, rows)
    }
}

/// The values of columns, as a file may be called; a word of the first is not said again.
fn file_name<'v>(varied: impl Iterator<Item = &'v (&'static str, Cell)>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (column, cell) in varied {
        let part = match cell {
            Cell::Flag(true) => (*column).to_owned(),
            Cell::Flag(false) | Cell::Default | Cell::Nothing => continue,
            Cell::Number(number) => format!("{number}-{column}"),
            Cell::Text(text) => text.clone(),
        };
        let said = parts.first().is_some_and(|first| first.split('-').any(|word| word == part));
        parts.extend((!said).then_some(part));
    }
    parts.join("-")
}

/// Variants that a device cannot run, by the reason.
#[derive(Default)]
struct Impossible<'a>(Vec<(String, Vec<&'a Variant>)>);

impl<'a> Impossible<'a> {
    fn add(&mut self, why: String, variant: &'a Variant) {
        match self.0.iter_mut().find(|(known, _)| *known == why) {
            Some((_, alike)) => alike.push(variant),
            None => self.0.push((why, vec![variant])),
        }
    }

    /// `threads-mps, processes-mps (30 variants): the model c1060 has no MPS`
    fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(why, alike)| {
            let mut names: Vec<String> = Vec::new();
            for variant in alike {
                let name = variant.varied.first().map(|(_, cell)| cell.to_string()).unwrap_or_default();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            let count = report::units::counted(alike.len() as u64, "variant", "variants");
            format!("{} ({count}): {why}", names.join(", "))
        })
    }
}

/// What a variant's runs gave.
struct Measured {
    rows: Vec<Row>,
    trace: Option<Trace>,
    notes: Vec<String>,
}

impl Results {
    /// What was measured, put in relation; or why nothing was.
    fn end(mut self) -> Result<Results, String> {
        if !self.rows.is_empty() {
            self.relate();
            return Ok(self);
        }
        let why = self.partial.map(|partial| partial.why);
        let why = why.or_else(|| self.left_out.pop().map(|why| format!("nothing could be run: {why}")));
        Err(why.unwrap_or_default())
    }

    fn add(&mut self, variant: &Variant, measured: Measured) {
        let mut rows = measured.rows;
        if self.bench.simulated {
            // The same every time.
            let all = rows.iter_mut().flat_map(|row| {
                row.figures.iter_mut().chain(row.each.iter_mut().flat_map(|row| &mut row.figures))
            });
            all.for_each(|figure| figure.spread = Some(0.0));
        }
        self.rows.extend(rows);
        self.traces.extend(measured.trace.map(|trace| (variant.label(), trace)));
        for note in measured.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// The variants that are as all of `only` says, and those that they are compared with.
fn chosen(
    variants: Vec<Variant>,
    only: &[(String, String)],
    experiment: &Experiment,
) -> Result<Vec<Variant>, String> {
    if variants.is_empty() {
        return Err(String::from("with these settings there is nothing to run here; set others"));
    }
    let (count, first) = (variants.len(), variants[0].label());
    let chosen = || variants.iter().filter(|variant| variant.matches(only));
    if chosen().next().is_none() {
        let wanted: Vec<String> = only.iter().map(|(name, value)| format!("{name}={value}")).collect();
        return Err(format!(
            "--variant {}: none of the {count} is so; the first is {first}",
            wanted.join(",")
        ));
    }
    let is_base = |base: &Variant, relation: &Relation| {
        chosen().any(|variant| relation.is_base(&base.varied, &variant.varied))
    };
    let is_wanted = |variant: &Variant| {
        variant.matches(only) || experiment.relation.as_ref().is_some_and(|to| is_base(variant, to))
    };
    let wanted: Vec<bool> = variants.iter().map(is_wanted).collect();
    let both = variants.into_iter().zip(wanted);
    Ok(both.filter_map(|(variant, is_wanted)| is_wanted.then_some(variant)).collect())
}

/// How often a variant is run.
struct Times {
    warm_ups: u32,
    rounds: u32,
    /// Whether the best round counts, not the median.
    best: bool,
    /// Whether there is one more for a trace.
    trace: bool,
    /// Whether one run tells all.
    simulated: bool,
}

/// What the runs of a variant give.
fn measure(
    variant: &Variant,
    times: &Times,
    execute: &mut dyn FnMut(Want) -> Result<Run, Failure>,
) -> Result<Measured, Failure> {
    let want = Want { timed: variant.timed, trace: false, contention: variant.contention };
    for _ in 0..times.warm_ups {
        execute(want)?;
    }
    let (mut readings, mut notes, mut averages) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times.rounds {
        let run = execute(want)?;
        readings.push((variant.read)(&run.outcome));
        // A simulator's calls are timed whether or not that is wanted.
        if variant.averages && times.simulated {
            averages = calls::averages(&run.outcome);
        }
        notes.extend(run.notes);
    }
    if variant.averages && !times.simulated {
        averages = calls::averages(&execute(Want { timed: true, ..want })?.outcome);
    }
    let mut rows = rows(variant, &readings, times.best);
    if let Some(row) = rows.first_mut() {
        row.figures.extend(averages.into_iter().map(|(name, value)| Figure::new(name, value, None)));
    }
    let mut trace = None;
    if times.trace {
        let traced = execute(Want { timed: true, trace: true, ..want })?;
        notes.extend(traced.notes);
        trace = traced.trace;
    }
    Ok(Measured { rows, trace, notes })
}

/// The rows of a variant: the medians of its rounds, or the best one.
fn rows(variant: &Variant, rounds: &[Vec<Reading>], best: bool) -> Vec<Row> {
    let rounds: Vec<&[Reading]> = rounds.iter().map(Vec::as_slice).collect();
    rows_of(&variant.varied, &rounds, best)
}

fn rows_of(varied: &Varied, rounds: &[&[Reading]], best: bool) -> Vec<Row> {
    let row = |(at, reading): (usize, &Reading)| {
        let of_rounds: Vec<&Reading> = rounds.iter().filter_map(|round| round.get(at)).collect();
        let chosen = if best { best_of(&of_rounds) } else { None };
        let figures = reading.figures.iter().enumerate();
        let each: Vec<&[Reading]> = of_rounds.iter().map(|reading| reading.each.as_slice()).collect();
        Row {
            varied: varied.iter().chain(&reading.also).cloned().collect(),
            figures: figures.map(|(at, (name, _))| figure(name, at, &of_rounds, chosen)).collect(),
            max_error: of_rounds.iter().filter_map(|reading| reading.max_error).reduce(f64::max),
            each: rows_of(&[], &each, best),
        }
    };
    rounds.first().copied().unwrap_or_default().iter().enumerate().map(row).collect()
}

/// The round whose first figure is best.
fn best_of<'a>(rounds: &[&'a Reading]) -> Option<&'a Reading> {
    let first = |reading: &&Reading| reading.figures.first().map_or(f64::NAN, |(_, value)| *value);
    let more = rounds.first()?.figures.first().is_some_and(|(name, _)| Unit::of(name).more_is_better());
    let better =
        |a: &&'a Reading, b: &&'a Reading| if more { first(a) > first(b) } else { first(a) < first(b) };
    rounds.iter().copied().reduce(|best, round| if better(&round, &best) { round } else { best })
}

/// The median of the rounds or what the chosen one has, and half of their range if there are several.
fn figure(name: &'static str, at: usize, rounds: &[&Reading], chosen: Option<&Reading>) -> Figure {
    let mut values: Vec<f64> =
        rounds.iter().filter_map(|round| round.figures.get(at)).map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    };
    let value = chosen.and_then(|round| round.figures.get(at)).map_or(median, |(_, value)| *value);
    let range = values.last().unwrap_or(&0.0) - values.first().unwrap_or(&0.0);
    Figure::new(name, value, (values.len() > 1).then_some(range / 2.0))
}

/// Reads `variant=threads,workers=8`.
///
/// # Errors
/// A line that says what is wrong with it.
pub fn only(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |part: &str| match part.split_once('=') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(format!("--variant {text}: write it as COLUMN=VALUE,COLUMN=VALUE")),
    };
    text.split(',').map(pair).collect()
}

#[cfg(test)]
mod tests;
