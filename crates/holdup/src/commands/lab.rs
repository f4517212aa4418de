//! `holdup lab`

use crate::args::{Lab, LabList, LabRun, LabShow, LabVerb, ResultsForm as Form, ResultsOutput, Table};
use crate::failure::{Failure, operating_system};
use crate::interrupt::{self, INTERRUPTED};
use crate::output::{self, Color};
use crate::progress::Bar;
use crate::readers::Readers;
use crate::save::{self, Target};
use experiments::{Comparison, Request, Results, Runner, Session, View, Want};
use report::{Page, document, listing, plot};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trace::Selection;
use workload::Workload;

/// Lists experiments or runs one.
pub fn run(arguments: &Lab, color: Color) -> Result<ExitCode, Failure> {
    match &arguments.verb {
        LabVerb::List(arguments) => list(arguments, color),
        LabVerb::Run(arguments) if names_file(&arguments.name) => run_file(arguments, color),
        LabVerb::Run(arguments) => run_experiment(arguments, color),
        LabVerb::Show(arguments) => show(arguments, color),
        LabVerb::Calibrate(arguments) => super::calibrate::run(arguments),
    }
}

fn list(arguments: &LabList, color: Color) -> Result<ExitCode, Failure> {
    let page = output::page(color);
    let one = arguments.name.as_deref().map(experiments::experiment).transpose().map_err(Failure::Message)?;
    output::print(&match (arguments.format, one) {
        (Table::Text, None) => {
            format!(
                "{}Run `holdup lab list NAME` for details, `holdup lab run NAME` to run it.\n",
                experiments::list(page)
            )
        }
        (Table::Text, Some(experiment)) => experiments::describe(experiment, page).to_string(),
        (Table::Json, None) => listed_json(&experiments::list_json(experiments::CATALOGUE)),
        (Table::Json, Some(experiment)) => listed_json(&experiments::list_json([experiment])),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a name is that of a workload's file.
fn names_file(name: &str) -> bool {
    name.contains(['/', '\\']) || Path::new(name).extension().is_some()
}

/// Where the output goes, prepared before the work so that a failure to write is reported at once.
struct Targets {
    output: Option<Target>,
    plot: Option<Target>,
    /// Target of the plot of calls' mean times, beside the plot.
    calls: Option<Target>,
    /// Targets of traces, in the order of the variants that have one.
    traces: Vec<Target>,
}

impl Targets {
    fn new(shown: &ResultsOutput, calls: bool, traces: &[PathBuf]) -> Result<Targets, Failure> {
        let calls = shown.plot.as_deref().filter(|_| calls).map(|path| beside(path, "calls"));
        let paths = [&shown.output, &shown.plot, &calls].into_iter().flatten();
        let named: Vec<&Path> = paths.chain(traces).map(|path| path.as_path()).collect();
        let places: Vec<PathBuf> = named.iter().map(|path| save::place(path)).collect();
        let is_twice = |at: &usize| places[..*at].contains(&places[*at]);
        if let Some(twice) = (0..places.len()).find(is_twice) {
            return Err(Failure::of(named[twice], "is named twice: name two files"));
        }
        if shown.format == Form::Html && shown.output.is_none() {
            output::page_has_a_reader()?;
        }
        let target = |path: &Option<PathBuf>| {
            path.as_deref().map(|path| Target::new(path, shown.force, Readers::ALL)).transpose()
        };
        Ok(Targets {
            output: target(&shown.output)?,
            plot: target(&shown.plot)?,
            calls: target(&calls)?,
            traces: traces
                .iter()
                .map(|path| Target::new(path, shown.force, Readers::ALL))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Writes the results, and plots them on request.
    fn write(
        &mut self,
        results: &Results,
        baseline: Option<&Results>,
        form: Form,
        color: Color,
    ) -> Result<(), Failure> {
        let comparison = baseline.map(|earlier| Comparison::new(results, earlier));
        let comparison = comparison.as_ref();
        match form {
            Form::Json => {
                self.print(&report::json("holdup/lab-results/1", &experiments::json(results, comparison)))?
            }
            Form::Markdown => {
                self.print(&experiments::document(results, comparison, document::Form::Markdown).to_string())?
            }
            Form::Html => save::page(&experiments::html(results, comparison), self.output.take())?,
            Form::Text => {
                let (page, terminal) = match self.output {
                    Some(_) => (Page::default(), None),
                    None => (output::page(color), output::terminal_columns()),
                };
                let document = experiments::document(results, comparison, document::Form::Text(page));
                let mut text = document.to_string();
                if results.experiment.view == View::Listings {
                    text.push_str(&listed(results, terminal)?);
                }
                self.print(&text)?;
            }
        }
        if let Some(target) = self.plot.take() {
            target.write_text(&plot::svg(&results.plot()))?;
        }
        match self.calls.take().zip(results.calls_plot()) {
            Some((target, plot)) => target.write_text(&plot::svg(&plot)),
            None => Ok(()),
        }
    }

    /// Writes the output, to its file or standard output.
    fn print(&mut self, text: &str) -> Result<(), Failure> {
        match self.output.take() {
            Some(target) => target.write_text(text),
            None => output::print(text),
        }
    }

    /// Writes the requested traces.
    fn keep<'t>(&mut self, traces: impl IntoIterator<Item = &'t trace::Trace>) -> Result<(), Failure> {
        let wanted = self.traces.drain(..).zip(traces);
        wanted.into_iter().try_for_each(|(target, trace)| target.write(trace))
    }
}

/// A file named after another and what is in it: `plot-calls.svg` for `plot.svg`.
fn beside(path: &Path, what: &str) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = (part(path.file_stem()), part(path.extension()));
    let dot = if extension.is_empty() { "" } else { "." };
    path.with_file_name(format!("{stem}-{what}{dot}{extension}"))
}

fn run_experiment(arguments: &LabRun, color: Color) -> Result<ExitCode, Failure> {
    let shown = &arguments.shown;
    let experiment = experiments::experiment(&arguments.name).map_err(Failure::Message)?;
    // Wrong settings are reported before the search for a device.
    experiments::Settings::new(experiment.name, experiment.parameters, &arguments.set)
        .map_err(Failure::Message)?;
    let only = arguments.variant.as_deref().map(experiments::only).transpose().map_err(Failure::Message)?;
    let earlier =
        |path: &Option<PathBuf>| path.as_deref().map(|path| earlier(path, experiment.name)).transpose();
    let (baseline, resumed) = (earlier(&shown.baseline)?, earlier(&arguments.resume)?);
    let runner = Runner::named(arguments.on.as_deref()).map_err(Failure::Message)?;
    let listings = experiment.view == View::Listings && shown.format == Form::Text;
    let drawn = experiment.timelines.is_some() && shown.format == Form::Html;
    let request = Request {
        set: arguments.set.clone(),
        rounds: arguments.rounds,
        only: only.unwrap_or_default(),
        traces: listings || drawn || arguments.trace.is_some(),
    };
    let mut session = Session::new(experiment, runner.bench(), &request).map_err(Failure::Message)?;
    if let Some((results, path)) = resumed.zip(arguments.resume.as_deref()) {
        session = session.resume(results).map_err(|problem| Failure::of(path, problem))?;
    }
    let traces = match &arguments.trace {
        Some(path) => traces(path, &session.file_names())?,
        None => Vec::new(),
    };
    let mut targets = Targets::new(shown, experiment.averages.is_some(), &traces)?;
    let results = execute(session, &runner)?;
    targets.write(&results, baseline.as_ref(), shown.format, color)?;
    targets.keep(results.traces.iter().map(|(_, trace)| trace))?;
    match &results.partial {
        Some(partial) => Err(Failure::Message(match (&shown.output, shown.format) {
            (Some(path), Form::Json) => format!("{partial}; --resume {} runs them", path.display()),
            _ => partial.to_string(),
        })),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Shows results of earlier runs.
fn show(arguments: &LabShow, color: Color) -> Result<ExitCode, Failure> {
    let shown = &arguments.shown;
    let mut all: Option<Results> = None;
    for path in &arguments.files {
        let results = read(path)?;
        match &mut all {
            Some(all) => all.merge(results).map_err(|problem| Failure::of(path, problem))?,
            None => all = Some(results),
        }
    }
    let Some(results) = all else { return Ok(ExitCode::SUCCESS) };
    let baseline = shown.baseline.as_deref();
    let baseline = baseline.map(|path| earlier(path, results.experiment.name)).transpose()?;
    Targets::new(shown, results.calls_plot().is_some(), &[])?.write(
        &results,
        baseline.as_ref(),
        shown.format,
        color,
    )?;
    // That a run came to no end is among what it says.
    Ok(ExitCode::SUCCESS)
}

/// Where each variant's trace goes: the path, or `NAME-VARIANT.holdup` beside it if there are several.
fn traces(path: &Path, names: &[String]) -> Result<Vec<PathBuf>, Failure> {
    match names {
        [] => Err(Failure::Message(String::from("--trace: no variant is left to run: leave out --resume"))),
        [_] => Ok(vec![path.to_owned()]),
        several => Ok(several.iter().map(|name| beside(path, name)).collect()),
    }
}

fn execute(session: Session, runner: &Runner) -> Result<Results, Failure> {
    interrupt::listen();
    let mut bar = Bar::new("running");
    let results = session.run(
        &mut |workload, want| runner.run(workload, want, &INTERRUPTED),
        &INTERRUPTED,
        &mut |progress| {
            bar.update(&progress.variant, progress.done, Some(progress.total));
        },
    );
    results.map_err(Failure::Message)
}

/// The results of an earlier run of the experiment.
fn earlier(path: &Path, experiment: &str) -> Result<Results, Failure> {
    let results = read(path)?;
    match results.experiment.name {
        name if name == experiment => Ok(results),
        name => {
            let problem = format!("results of {name}, not of {experiment}: name another file");
            Err(Failure::of(path, problem))
        }
    }
}

/// The results of an earlier run.
fn read(path: &Path) -> Result<Results, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::of(path, operating_system(&error)))?;
    Results::read(&text).map_err(|problem| Failure::of(path, problem))
}

/// The calls and the GPU operations of each variant, as nvprof lists them.
fn listed(results: &Results, columns: Option<usize>) -> Result<String, Failure> {
    let (order, format) = (listing::Order::default(), listing::Format::Text(columns));
    let mut text = Vec::new();
    for (label, trace) in &results.traces {
        let everything = Selection::default();
        text.extend(format!("\n{label}: calls\n").into_bytes());
        listing::calls(trace, &everything, order, format, &mut text)?;
        if !trace.ops.is_empty() {
            text.extend(format!("\n{label}: GPU operations\n").into_bytes());
            listing::ops(trace, &everything, order, format, &mut text)?;
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Runs the workload of a file.
fn run_file(arguments: &LabRun, color: Color) -> Result<ExitCode, Failure> {
    let (path, shown) = (Path::new(&arguments.name), &arguments.shown);
    let useless = [
        ("--set", !arguments.set.is_empty()),
        ("--variant", arguments.variant.is_some()),
        ("--rounds", arguments.rounds.is_some()),
        ("--resume", arguments.resume.is_some()),
        ("--plot", shown.plot.is_some()),
        ("--baseline", shown.baseline.is_some()),
        ("--format html", shown.format == Form::Html),
        ("--format markdown", shown.format == Form::Markdown),
    ];
    if let Some((option, _)) = useless.iter().find(|(_, given)| *given) {
        return Err(Failure::Message(format!("{option} is for experiments; {} is a file", arguments.name)));
    }
    let text = std::fs::read(path).map_err(|error| Failure::of(path, operating_system(&error)))?;
    let workload =
        Workload::from_toml(&text, &arguments.name).map_err(|error| Failure::Message(error.to_string()))?;
    let mut targets = Targets::new(shown, false, arguments.trace.as_slice())?;
    let runner = Runner::named(arguments.on.as_deref()).map_err(Failure::Message)?;
    let want = Want { timed: true, trace: arguments.trace.is_some(), ..Want::default() };
    interrupt::listen();
    let run =
        runner.run(&workload, want, &INTERRUPTED).map_err(|failure| Failure::Message(failure.to_string()))?;
    let bench = runner.bench();
    targets.print(&match shown.format {
        Form::Json => {
            report::json("holdup/lab-workload/1", &experiments::single_json(&workload, &bench, &run))
        }
        Form::Text | Form::Html | Form::Markdown => {
            experiments::single(&workload, &bench, &run, output::page(color)).to_string()
        }
    })?;
    targets.keep(run.trace.as_ref())?;
    match run.stopped {
        Some(why) => Err(Failure::Message(format!("{why}; the results are partial"))),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Each element of a list names its schema.
fn listed_json(list: &Value) -> String {
    report::json_array("holdup/lab-list/1", list.as_array().map_or(&[], Vec::as_slice))
}
