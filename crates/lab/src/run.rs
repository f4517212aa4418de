//! Running an experiment: every variant, once for nothing and then in rounds.

use crate::Settings;
use crate::experiment::{Bench, Experiment, Reading, Relation, Variant};
use crate::results::{Figure, Partial, Results, Row};
use crate::together::Part;
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
        let runs = |variant: &Variant| u64::from(warm_ups + rounds) + u64::from(is_traced(variant));
        let total = self.to_be_run().map(runs).sum();
        let (mut results, variants, mut earlier) = self.begin();
        let known = earlier.len();
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
            let mut execute = |trace| {
                progress(&at);
                at.done += 1;
                if interrupted.load(Ordering::Relaxed) {
                    return Err(Failure::Stopped(String::from("interrupted")));
                }
                let run = execute(&variant.workload, Want { timed: variant.timed, trace })?;
                run.stopped.clone().map_or(Ok(run), |why| Err(Failure::Stopped(why)))
            };
            let why = match measure(variant, warm_ups, rounds, is_traced(variant), &mut execute) {
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
            let figures = rows.iter_mut().flat_map(|row| &mut row.figures);
            figures.for_each(|figure| figure.spread = Some(0.0));
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

/// What the runs of a variant give.
fn measure(
    variant: &Variant,
    warm_ups: u32,
    rounds: u32,
    traced: bool,
    execute: &mut dyn FnMut(bool) -> Result<Run, Failure>,
) -> Result<Measured, Failure> {
    for _ in 0..warm_ups {
        execute(false)?;
    }
    let (mut readings, mut notes) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let run = execute(false)?;
        readings.push((variant.read)(&run.outcome));
        notes.extend(run.notes);
    }
    let trace = if traced { execute(true)?.trace } else { None };
    Ok(Measured { rows: rows(variant, &readings), trace, notes })
}

/// The rows of a variant: the medians of its rounds.
fn rows(variant: &Variant, rounds: &[Vec<Reading>]) -> Vec<Row> {
    let first = rounds.first().cloned().unwrap_or_default();
    let row = |(at, reading): (usize, Reading)| {
        let of_rounds: Vec<&Reading> = rounds.iter().filter_map(|round| round.get(at)).collect();
        let mut varied = variant.varied.clone();
        varied.extend(reading.also);
        let figures = reading.figures.iter().enumerate();
        Row {
            varied,
            figures: figures.map(|(at, (name, _))| figure(name, at, &of_rounds)).collect(),
            max_error: of_rounds.iter().filter_map(|reading| reading.max_error).reduce(f64::max),
        }
    };
    first.into_iter().enumerate().map(row).collect()
}

/// The median of the rounds, and half of their range if there are several.
fn figure(name: &'static str, at: usize, rounds: &[&Reading]) -> Figure {
    let mut values: Vec<f64> =
        rounds.iter().filter_map(|round| round.figures.get(at)).map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    };
    let range = values.last().unwrap_or(&0.0) - values.first().unwrap_or(&0.0);
    Figure::new(name, median, (values.len() > 1).then_some(range / 2.0))
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
mod tests {
    use super::*;
    use crate::CATALOGUE;
    use workload::ThreadOutcome;

    fn outcome(elapsed_ns: u64) -> Outcome {
        let thread = ThreadOutcome { elapsed_ns, rounds: 10, max_error: Some(0.5), calls: Vec::new() };
        Outcome { threads: vec![thread] }
    }

    fn session(bench: Bench, rounds: u32) -> Session {
        let request =
            Request { set: vec![String::from("memory=pinned")], rounds: Some(rounds), ..Request::default() };
        Session::new(crate::experiment("overlap").expect("there"), bench, &request).expect("well set")
    }

    fn run_of(elapsed_ns: u64) -> Run {
        Run { outcome: outcome(elapsed_ns), trace: None, stopped: None, notes: vec![String::from("a note")] }
    }

    #[test]
    fn a_row_is_the_median_of_its_rounds_with_half_their_range() {
        let times = [900, 10, 40, 20, 30, 100].map(|ms| ms * 1_000_000);
        let mut at = 0;
        let mut execute = |_: &Workload, _: Want| {
            at += 1;
            Ok(run_of(times[(at - 1) % times.len()]))
        };
        let quiet = AtomicBool::new(false);
        let results = session(Bench::default(), 5).run(&mut execute, &quiet, &mut |_| {}).expect("runs");
        // The first is the warm-up.
        let expected = Figure { name: "ms", value: 3.0, spread: Some(4.5) };
        assert_eq!(results.rows.len(), 3);
        assert_eq!(results.rows[0].figures, [expected]);
        assert_eq!(results.rows[0].max_error, Some(0.5));
        assert_eq!(results.notes, ["a note"]);
        assert_eq!(at, 18);
        let mut execute = |_: &Workload, _: Want| Ok(run_of(1_000_000));
        let results = session(Bench::default(), 1).run(&mut execute, &quiet, &mut |_| {}).expect("runs");
        assert_eq!(results.rows[0].figures[0].spread, None);
        assert!(results.place().ends_with(" · 1 round"));
    }

    #[test]
    fn what_was_measured_before_an_interruption_is_kept_and_said_to_be_partial() {
        let (quiet, bench) = (AtomicBool::new(false), Bench { simulated: true, ..Bench::default() });
        let mut runs = 0;
        let mut execute = |_: &Workload, _: Want| {
            runs += 1;
            let mut run = run_of(1_000_000);
            run.stopped = (runs == 3).then(|| String::from("interrupted"));
            Ok(run)
        };
        let results = session(bench, 1).run(&mut execute, &quiet, &mut |_| {}).expect("runs");
        let partial = results.partial.as_ref().expect("not all");
        assert_eq!((results.rows.len(), partial.missing, partial.of), (2, 1, 3));
        assert_eq!(crate::json(&results, None)["partial"], true);
        assert!(
            crate::text(&results, None, report::Page::default())
                .contains("PARTIAL: interrupted; the results")
        );
    }

    #[test]
    fn an_interrupted_run_that_resumed_another_has_the_rows_of_both() {
        let (quiet, bench) = (AtomicBool::new(false), Bench { simulated: true, ..Bench::default() });
        let all = session(bench.clone(), 1).run(&mut |_, _| Ok(run_of(1_000_000)), &quiet, &mut |_| {});
        let mut earlier = all.expect("runs");
        let (last, expected) = (earlier.rows.split_off(2), earlier.rows.len());
        earlier.rows = last;
        let mut runs = 0;
        let mut execute = |_: &Workload, _: Want| {
            runs += 1;
            if runs == 2 { Err(Failure::Stopped(String::from("interrupted"))) } else { Ok(run_of(2_000_000)) }
        };
        let resumed = session(bench, 1).resume(earlier).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(resumed.labels().len(), expected);
        let mut steps = Vec::new();
        let results = resumed.run(&mut execute, &quiet, &mut |progress| steps.push(progress.clone()));
        let results = results.expect("something");
        let times: Vec<f64> = results.rows.iter().map(|row| row.value("ms")).collect();
        assert_eq!(times, [0.2, 0.1]);
        let partial = results.partial.expect("not all");
        assert_eq!((partial.missing, partial.of), (1, 3));
        assert_eq!(steps.iter().map(|step| (step.done, step.total)).collect::<Vec<_>>(), [(0, 2), (1, 2)]);
    }

    #[test]
    fn an_interruption_before_anything_was_measured_leaves_nothing() {
        let interrupted = AtomicBool::new(true);
        let mut execute = |_: &Workload, _: Want| Ok(run_of(1));
        let why = session(Bench::default(), 1).run(&mut execute, &interrupted, &mut |_| {}).err();
        assert_eq!(why.as_deref(), Some("interrupted before anything was measured"));
    }

    #[test]
    fn what_a_device_cannot_do_is_left_out_and_what_fails_is_said() {
        let quiet = AtomicBool::new(false);
        let simulated = || Bench { simulated: true, ..Bench::default() };
        let mut runs = 0;
        let mut execute = |_: &Workload, _: Want| {
            runs += 1;
            if runs > 1 { Err(Failure::Impossible(String::from("no streams"))) } else { Ok(run_of(1)) }
        };
        let results = session(simulated(), 1).run(&mut execute, &quiet, &mut |_| {}).expect("runs");
        assert_eq!(results.left_out, ["depth-first, breadth-first (2 variants): no streams"]);
        let mut execute = |_: &Workload, _: Want| Err(Failure::Failed(String::from("out of memory")));
        let failure = session(simulated(), 1).run(&mut execute, &quiet, &mut |_| {}).err();
        let expected = "overlap, variant=sequential,memory=pinned,streams=none,bytes=16777216,kernel-rounds=1: out of memory";
        assert_eq!(failure.as_deref(), Some(expected));
        let mut runs = 0;
        let mut execute = |_: &Workload, _: Want| {
            runs += 1;
            if runs > 2 { Err(Failure::Failed(String::from("the GPU is lost"))) } else { Ok(run_of(1)) }
        };
        let results = session(simulated(), 1).run(&mut execute, &quiet, &mut |_| {}).expect("something");
        let said = results.partial.map(|partial| partial.to_string()).unwrap_or_default();
        assert!(said.contains("the GPU is lost; the results are partial: 1 of 3 variants"), "{said}");
        let mut execute = |_: &Workload, _: Want| Err(Failure::Impossible(String::from("no MPS")));
        let failure = session(simulated(), 1).run(&mut execute, &quiet, &mut |_| {}).err();
        let expected = "nothing could be run: sequential, depth-first, breadth-first (3 variants): no MPS";
        assert_eq!(failure.as_deref(), Some(expected));
    }

    #[test]
    fn every_variant_of_every_experiment_is_a_possible_workload() {
        for experiment in &CATALOGUE {
            for gpus in [1, 8] {
                let bench = Bench { gpus, ..Bench::default() };
                let settings = Settings::new(experiment.name, experiment.parameters, &[]).expect("defaults");
                let plan = (experiment.variants)(&settings, &bench).expect("possible");
                assert!(!plan.variants.is_empty(), "{}", experiment.name);
                let mut labels: Vec<String> = plan.variants.iter().map(Variant::label).collect();
                for variant in &plan.variants {
                    let checked = variant.workload.check();
                    assert!(checked.is_ok(), "{} {}: {checked:?}", experiment.name, variant.label());
                    assert!(variant.varied.iter().any(|(name, _)| *name == "variant"), "{}", variant.label());
                }
                labels.sort();
                labels.dedup();
                assert_eq!(
                    labels.len(),
                    plan.variants.len(),
                    "{}: two variants of one name",
                    experiment.name
                );
            }
        }
    }

    #[test]
    fn a_variant_is_chosen_by_its_columns() {
        let only = only("variant=depth-first, streams=4").expect("well written");
        let request = Request { set: vec![String::from("memory=pinned")], only, ..Request::default() };
        let overlap = crate::experiment("overlap").expect("there");
        let session = Session::new(overlap, Bench::default(), &request).expect("there is one");
        assert_eq!(
            session.labels(),
            ["variant=depth-first,memory=pinned,streams=4,bytes=16777216,kernel-rounds=1"]
        );
        let none = Request { only: super::only("variant=sideways").expect("well written"), ..request };
        let problem = Session::new(overlap, Bench::default(), &none).err().unwrap_or_default();
        assert!(
            problem.starts_with("--variant variant=sideways: none of the 3 is so; the first is"),
            "{problem}"
        );
        assert!(super::only("depth-first").is_err());
    }

    #[test]
    fn what_variants_are_compared_with_is_not_traced() {
        let only = only("call=allocate,effect=launches").expect("well written");
        let set = vec![String::from("variant=own-stream")];
        let request = Request { set, only, traces: true, ..Request::default() };
        let bench = Bench { simulated: true, ..Bench::default() };
        let matrix = crate::experiment("interference").expect("there");
        let session = Session::new(matrix, bench, &request).expect("there is one");
        let label = "variant=own-stream,call=allocate,effect=launches";
        assert_eq!(session.chosen(), [label]);
        let mut execute = |_: &Workload, want: Want| {
            Ok(Run { trace: want.trace.then(Trace::default), ..run_of(1_000_000) })
        };
        let mut last = None;
        let quiet = AtomicBool::new(false);
        let results = session.run(&mut execute, &quiet, &mut |progress| last = Some(progress.clone()));
        let traces = results.expect("runs").traces;
        assert_eq!(traces.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), [label]);
        assert_eq!(last.map(|last| (last.done, last.total)), Some((2, 3)));
    }

    #[test]
    fn what_chosen_variants_are_compared_with_is_run_too() {
        let labels = |experiment, set: &str, variant| {
            let only = only(variant).expect("well written");
            let request = Request { set: vec![set.to_owned()], only, ..Request::default() };
            let bench = Bench { gpus: 4, ..Bench::default() };
            let experiment = crate::experiment(experiment).expect("there");
            Session::new(experiment, bench, &request).expect("there is one").labels()
        };
        assert_eq!(
            labels("interference", "variant=own-stream", "call=allocate,effect=launches"),
            [
                "variant=own-stream,call=idle,effect=launches",
                "variant=own-stream,call=allocate,effect=launches"
            ]
        );
        let alone = labels("multi-gpu", "variant=threads", "workers=4,load=products,sync=no");
        assert_eq!(alone.len(), 2, "{alone:?}");
        assert!(alone[0].contains("workers=1,gpus=1"), "{alone:?}");
    }
}
