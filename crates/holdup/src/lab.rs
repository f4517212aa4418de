//! `holdup lab`

use crate::args::{Lab, LabList, LabRun, LabVerb, ResultsForm as Form, Table};
use crate::failure::{Failure, operating_system};
use crate::interrupt::{self, INTERRUPTED};
use crate::output::{self, Color};
use crate::progress::Bar;
use crate::save::{self, Target};
use lab::{Baseline, Request, Results, Runner, Session, View, Want};
use report::{Page, listing, plot};
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;
use trace::Selection;
use workload::Workload;

/// Lists experiments or runs one.
pub fn run(arguments: &Lab, color: Color) -> Result<ExitCode, Failure> {
    match &arguments.verb {
        LabVerb::List(arguments) => list(arguments, color),
        LabVerb::Run(arguments) if names_file(&arguments.name) => run_file(arguments, color),
        LabVerb::Run(arguments) => run_experiment(arguments, color),
    }
}

fn list(arguments: &LabList, color: Color) -> Result<ExitCode, Failure> {
    let page = output::page(color);
    let one = arguments.name.as_deref().map(lab::experiment).transpose().map_err(Failure::Message)?;
    output::print(&match (arguments.format, one) {
        (Table::Text, None) => {
            format!(
                "{}holdup lab list NAME tells more of one, holdup lab run NAME runs it.\n",
                lab::list_text(page)
            )
        }
        (Table::Text, Some(experiment)) => lab::describe_text(experiment, page),
        (Table::Json, None) => pretty(&lab::list_json(&lab::CATALOGUE)),
        (Table::Json, Some(experiment)) => pretty(&lab::list_json([experiment])),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a name is that of a workload's file.
fn names_file(name: &str) -> bool {
    name.contains(['/', '\\']) || Path::new(name).extension().is_some()
}

/// Where the output goes, made before the work so that what cannot be written is said at once.
struct Targets {
    output: Option<Target>,
    plot: Option<Target>,
    trace: Option<Target>,
}

impl Targets {
    fn new(arguments: &LabRun) -> Result<Targets, Failure> {
        let paths = [&arguments.output, &arguments.plot, &arguments.trace];
        let named: Vec<&Path> = paths.into_iter().flatten().map(|path| path.as_path()).collect();
        if let Some(twice) = named.iter().find(|path| named.iter().filter(|other| other == path).count() > 1)
        {
            return Err(Failure::of(twice, "is to be written twice; name two files"));
        }
        if arguments.format == Form::Html && arguments.output.is_none() {
            output::page_has_a_reader()?;
        }
        let target = |path: &Option<std::path::PathBuf>| {
            path.as_deref().map(|path| Target::new(path, arguments.force)).transpose()
        };
        Ok(Targets {
            output: target(&arguments.output)?,
            plot: target(&arguments.plot)?,
            trace: target(&arguments.trace)?,
        })
    }

    /// Writes the output, to its file or standard output.
    fn print(&mut self, text: &str) -> Result<(), Failure> {
        match self.output.take() {
            Some(target) => target.write_text(text),
            None => output::print(text),
        }
    }

    /// Writes a page, to its file or standard output.
    fn write_page(&mut self, page: &page::Page) -> Result<(), Failure> {
        save::page(page, self.output.take())
    }

    /// Writes the trace, if it is wanted.
    fn keep(&mut self, trace: Option<&trace::Trace>) -> Result<(), Failure> {
        match (self.trace.take(), trace) {
            (Some(target), Some(trace)) => target.write(trace),
            _ => Ok(()),
        }
    }
}

fn run_experiment(arguments: &LabRun, color: Color) -> Result<ExitCode, Failure> {
    let experiment = lab::experiment(&arguments.name).map_err(Failure::Message)?;
    // What is wrong with the settings is said before a device is looked for.
    lab::Settings::new(experiment.name, experiment.parameters, &arguments.set).map_err(Failure::Message)?;
    let only = arguments.variant.as_deref().map(lab::only).transpose().map_err(Failure::Message)?;
    let baseline = arguments.baseline.as_deref().map(|path| baseline(path, experiment.name)).transpose()?;
    let mut targets = Targets::new(arguments)?;
    let runner = Runner::named(arguments.on.as_deref()).map_err(Failure::Message)?;
    let listings = experiment.view == View::Listings && arguments.format == Form::Text;
    // On a GPU a trace has no operations to draw.
    let drawn = experiment.timelines.is_some() && arguments.format == Form::Html && runner.bench().simulated;
    let request = Request {
        set: arguments.set.clone(),
        rounds: arguments.rounds,
        only: only.unwrap_or_default(),
        traces: listings || drawn || targets.trace.is_some(),
    };
    let session = Session::new(experiment, runner.bench(), &request).map_err(Failure::Message)?;
    if targets.trace.is_some() {
        one_variant(&session.labels())?;
    }
    let results = execute(session, &runner)?;
    let comparison = baseline.map(|baseline| baseline.compare(&results));
    let comparison = comparison.as_ref();
    match arguments.format {
        Form::Json => targets.print(&pretty(&lab::json(&results, comparison)))?,
        Form::Html => targets.write_page(&lab::html(&results, comparison))?,
        Form::Text => {
            let (page, terminal) = match arguments.output {
                Some(_) => (Page::default(), None),
                None => (output::page(color), output::terminal_columns()),
            };
            let mut text = lab::text(&results, comparison, page);
            if listings {
                text.push_str(&listed(&results, terminal)?);
            }
            targets.print(&text)?;
        }
    }
    if let Some(target) = targets.plot.take() {
        target.write_text(&plot::svg(&results.plot()))?;
    }
    targets.keep(results.traces.first().map(|(_, trace)| trace))?;
    match &results.partial {
        Some(partial) => Err(Failure::Message(partial.to_string())),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// A trace is one variant's.
fn one_variant(labels: &[String]) -> Result<(), Failure> {
    match labels {
        [_] => Ok(()),
        [first, ..] => Err(Failure::Message(format!(
            "--trace keeps one variant's, and this runs {}: choose one with --variant {first}, say",
            labels.len()
        ))),
        [] => Ok(()),
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

fn baseline(path: &Path, experiment: &str) -> Result<Baseline, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::of(path, operating_system(&error)))?;
    Baseline::read(&text, experiment).map_err(|problem| Failure::of(path, problem))
}

/// The calls and the GPU operations of each variant, in the manner of nvprof.
fn listed(results: &Results, columns: Option<usize>) -> Result<String, Failure> {
    let format = listing::Format::Text(columns);
    let mut text = Vec::new();
    for (label, trace) in &results.traces {
        let everything = Selection::default();
        text.extend(format!("\n{label}: calls\n").into_bytes());
        listing::calls(trace, &everything, format, &mut text)?;
        if !trace.ops.is_empty() {
            text.extend(format!("\n{label}: GPU operations\n").into_bytes());
            listing::ops(trace, &everything, format, &mut text)?;
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Runs the workload of a file.
fn run_file(arguments: &LabRun, color: Color) -> Result<ExitCode, Failure> {
    let path = Path::new(&arguments.name);
    let useless = [
        ("--set", !arguments.set.is_empty()),
        ("--variant", arguments.variant.is_some()),
        ("--rounds", arguments.rounds.is_some()),
        ("--plot", arguments.plot.is_some()),
        ("--baseline", arguments.baseline.is_some()),
        ("--format html", arguments.format == Form::Html),
    ];
    if let Some((option, _)) = useless.iter().find(|(_, given)| *given) {
        return Err(Failure::Message(format!("{option} is for experiments; {} is a file", arguments.name)));
    }
    let text = std::fs::read(path).map_err(|error| Failure::of(path, operating_system(&error)))?;
    let workload =
        Workload::from_toml(&text, &arguments.name).map_err(|error| Failure::Message(error.to_string()))?;
    let mut targets = Targets::new(arguments)?;
    let runner = Runner::named(arguments.on.as_deref()).map_err(Failure::Message)?;
    let want = Want { timed: true, trace: targets.trace.is_some() };
    interrupt::listen();
    let run =
        runner.run(&workload, want, &INTERRUPTED).map_err(|failure| Failure::Message(failure.to_string()))?;
    let bench = runner.bench();
    targets.print(&match arguments.format {
        Form::Json => pretty(&lab::single_json(&workload, &bench, &run)),
        Form::Text | Form::Html => lab::single_text(&workload, &bench, &run, output::page(color)),
    })?;
    targets.keep(run.trace.as_ref())?;
    match run.stopped {
        Some(why) => Err(Failure::Message(format!("{why}; the results are partial"))),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn pretty(value: &Value) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).unwrap_or_default())
}
