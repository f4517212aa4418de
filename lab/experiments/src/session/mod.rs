//! Running an experiment: a warm-up of every variant, and then rounds in which the variants take turns.

mod execution;
mod measure;
#[cfg(target_os = "linux")]
mod recording;
mod runner;
mod turns;

pub use execution::{Execute, Failure, Progress, Run, Want};
pub use runner::Runner;

use crate::experiment::{Bench, Cell, Experiment, Relation, Settings, Variant};
use crate::results::{Part, Partial, Results, Row};
use std::sync::atomic::AtomicBool;
use turns::{Left, Runs, Times, Turn};

/// Variants to run, and how to run them.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Settings, each `NAME=VALUE,VALUE`.
    pub set: Vec<String>,
    /// Rounds per variant; by default as many as the experiment has.
    pub rounds: Option<u32>,
    /// Run only the variants that have all of these values, by column.
    pub only: Vec<(String, String)>,
    /// Whether each variant runs once more for its trace.
    pub traces: bool,
}

/// The variants to run on a device.
pub struct Session {
    experiment: &'static Experiment,
    bench: Bench,
    settings: Settings,
    variants: Vec<Variant>,
    /// The values that select variants; others run as bases.
    only: Vec<(String, String)>,
    left_out: Vec<String>,
    rounds: u32,
    /// Whether the request states the rounds.
    are_asked: bool,
    traces: bool,
    /// The results of an earlier run, whose variants do not run again.
    earlier: Option<Results>,
}

/// The most rounds, which is also that of `--rounds`: a file that states more is wrong.
const MOST_ROUNDS: u32 = 1000;

impl Session {
    /// The variants of an experiment that a request selects on a device.
    ///
    /// # Errors
    /// One line: a setting is impossible, or no variant is selected.
    pub fn new(experiment: &'static Experiment, bench: Bench, request: &Request) -> Result<Session, String> {
        let mut settings = Settings::new(experiment.name, experiment.parameters, &request.set)?;
        let ignored = if bench.simulated { settings.simulated(experiment.parameters)? } else { Vec::new() };
        let plan = (experiment.variants)(&settings, &bench);
        let mut plan = plan.map_err(|problem| format!("{}: {problem}", experiment.name))?;
        plan.left_out
            .extend(ignored.iter().map(|name| format!("other values of {name}, which models ignore")));
        let variants = chosen(plan.variants, &request.only, experiment).map_err(|problem| {
            match plan.left_out.first() {
                Some(reason) => format!("{problem} ({reason})"),
                None => problem,
            }
        })?;
        let rounds = if bench.simulated { 1 } else { request.rounds.unwrap_or(experiment.rounds).max(1) };
        let (left_out, only, traces) = (plan.left_out, request.only.clone(), request.traces);
        let are_asked = request.rounds.is_some();
        let earlier = None;
        Ok(Session {
            experiment,
            bench,
            settings,
            variants,
            only,
            left_out,
            rounds,
            are_asked,
            traces,
            earlier,
        })
    }

    /// Keeps the rows of an earlier run of the experiment on the same device. Only what they lack runs: variants without rows,
    /// and the rounds that other rows' samples lack. Unless the request states the rounds, they are those of the earlier run.
    ///
    /// # Errors
    /// One line that says why the two cannot be merged.
    pub fn resume(mut self, earlier: Results) -> Result<Session, String> {
        let here = Part { experiment: self.experiment, bench: &self.bench, settings: &self.settings };
        here.goes_on_with(earlier.part())?;
        if !self.are_asked && !self.bench.simulated {
            self.rounds = earlier.rounds.clamp(1, MOST_ROUNDS);
        }
        self.earlier = Some(earlier);
        Ok(self)
    }

    /// The labels of the variants to run.
    pub fn labels(&self) -> Vec<String> {
        self.to_be_run().map(Variant::label).collect()
    }

    /// The labels of the selected ones among them, which have traces if traces are requested.
    pub fn chosen(&self) -> Vec<String> {
        self.to_be_run().filter(|variant| variant.matches(&self.only)).map(Variant::label).collect()
    }

    /// The part of a file's name that distinguishes each selected variant: `depth-first-pinned`; empty for a single one.
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
        let times = self.times();
        let left = move |variant: &Variant| {
            let rows = self.earlier.iter().flat_map(|earlier| &earlier.rows);
            let rows: Vec<Row> = rows.filter(|row| row.is(&variant.varied)).cloned().collect();
            Left::after(self.experiment, variant, &rows, times)
        };
        self.variants.iter().filter(move |variant| !left(variant).is_nothing())
    }

    fn times(&self) -> Times {
        let simulated = self.bench.simulated;
        let warm_ups = u32::from(self.experiment.warm_up && !simulated);
        Times { warm_ups, rounds: self.rounds, best: self.settings.takes_best(), simulated }
    }

    /// Runs the variants by turns, after a warm-up of each. A model needs one run each.
    ///
    /// # Errors
    /// One line that says why nothing was measured. A failure after the first round of a variant is not an error: the results
    /// have what was measured, and [`Results::partial`] has the reason.
    pub fn run(
        self,
        execute: &mut Execute<'_>,
        interrupted: &AtomicBool,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Results, String> {
        let (times, traces, only) = (self.times(), self.traces, self.only.clone());
        let (mut results, variants, mut earlier) = self.begin();
        let (experiment, was_run) = (results.experiment, !earlier.is_empty());
        let mut turns: Vec<Turn<'_>> = Vec::new();
        for variant in &variants {
            let rows = earlier.extract_if(.., |row| row.is(&variant.varied)).collect();
            turns.push(Turn::new(experiment, variant, rows, traces && variant.matches(&only), times));
        }
        let ended = Runs::new(experiment, execute, interrupted, progress).all(&mut turns, times).err();
        if was_run && turns.iter().any(Turn::has_run) {
            results.are_of_several_runs();
        }
        let missing = turns.iter().filter(|turn| turn.is_missing()).count();
        let incomplete = turns.iter().filter(|turn| turn.is_incomplete()).count();
        let mut impossible = Impossible::default();
        for turn in turns {
            if let Some(why) = &turn.impossible {
                impossible.add(why.clone(), turn.variant);
            }
            results.add(turn, times);
        }
        results.rows.extend(earlier);
        results.partial = ended.map(|failure| {
            let why = match failure {
                Failure::Stopped(why) if results.rows.is_empty() => {
                    format!("{why} before the first measurement")
                }
                failure => failure.to_string(),
            };
            Partial { why, missing, incomplete, of: variants.len() }
        });
        results.left_out.extend(impossible.lines());
        results.end()
    }

    /// The results before the first run, the variants, and the rows of an earlier run.
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

/// The values of columns as a part of a file's name. A word of the first value is not repeated.
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

/// Variants that a device cannot run, by reason.
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

impl Results {
    /// The results with the figures that compare rows; or why nothing was measured.
    fn end(mut self) -> Result<Results, String> {
        if !self.rows.is_empty() {
            self.relate();
            return Ok(self);
        }
        let why = self.partial.map(|partial| partial.why);
        let why = why.or_else(|| self.left_out.pop().map(|why| format!("no variant can run here: {why}")));
        Err(why.unwrap_or_default())
    }

    /// Adds what the runs of a variant gave.
    fn add(&mut self, turn: Turn<'_>, times: Times) {
        let mut rows = turn.rows(self.experiment, times);
        if times.simulated && turn.has_run() {
            // A model gives the same figure every time.
            let all = rows.iter_mut().flat_map(|row| {
                row.figures.iter_mut().chain(row.each.iter_mut().flat_map(|row| &mut row.figures))
            });
            all.for_each(|figure| (figure.spread, figure.samples) = (Some(0.0), Vec::new()));
        }
        self.rows.extend(rows);
        let label = turn.variant.label();
        self.traces.extend(turn.trace.map(|trace| (label, trace)));
        for note in turn.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// The variants that have all values of `only`, and their bases.
fn chosen(
    variants: Vec<Variant>,
    only: &[(String, String)],
    experiment: &Experiment,
) -> Result<Vec<Variant>, String> {
    if variants.is_empty() {
        return Err(String::from("these settings have no variant on this device: change --set"));
    }
    let (count, first) = (variants.len(), variants[0].label());
    let chosen = || variants.iter().filter(|variant| variant.matches(only));
    if chosen().next().is_none() {
        let wanted: Vec<String> = only.iter().map(|(name, value)| format!("{name}={value}")).collect();
        return Err(format!(
            "--variant {}: no variant matches; the first of {count} is {first}",
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

/// Reads `variant=threads,workers=8`.
///
/// # Errors
/// One line that shows how to write it.
pub fn only(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |part: &str| match part.split_once('=') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(format!("--variant {text}: expected COLUMN=VALUE,COLUMN=VALUE")),
    };
    text.split(',').map(pair).collect()
}

#[cfg(test)]
mod tests;
