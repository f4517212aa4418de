//! `holdup diff`

use crate::args::{Diff, Form, Limit};
use crate::failure::Failure;
use crate::output::{self, Color};
use crate::{input, time};
use explain::Options;
use explain::diff::{Limits, Run};
use explain::gate::Figures;
use report::diff::{Comparison, doubts, reasons};
use report::document;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trace::{Ns, Selection};

/// Exit status when a gate is exceeded.
const EXCEEDED: u8 = 1;

/// Compares the traces of two sides, and judges the difference.
pub fn run(arguments: &Diff, color: Color) -> Result<ExitCode, Failure> {
    let selection = arguments.filter.selection();
    time::check(&selection)?;
    one_standard_input(arguments)?;
    let options = Options { min_wait_ns: arguments.min_wait, selection };
    let counts = arguments.judges_counts();
    let side = |first: &PathBuf, more: &[PathBuf]| -> Result<Vec<Run>, Failure> {
        [first].into_iter().chain(more).map(|path| read(path, &options, counts)).collect()
    };
    let before = side(&arguments.before, &arguments.more_before)?;
    let after = side(&arguments.after, &arguments.more_after)?;
    let beyond = |limit: Limit| move |before, is_step| limit.beyond(before, is_step);
    let time = arguments.fail_over.map(beyond);
    let limits = Limits { counts, time: time.as_ref().map(|time| time as &dyn Fn(Ns, bool) -> Ns) };
    let diff = explain::diff::diff(&before, &after, limits);
    let summaries = |runs: Vec<Run>| runs.into_iter().map(|run| run.explanation.trace).collect();
    let comparison = Comparison { before: summaries(before), after: summaries(after), diff };
    output::print(&match arguments.format {
        Form::Text => {
            report::diff::document(&comparison, document::Form::Text(output::page(color)), arguments.all)
                .to_string()
        }
        Form::Json => report::diff::json(&comparison),
        Form::Markdown => {
            report::diff::document(&comparison, document::Form::Markdown, arguments.all).to_string()
        }
        Form::Junit => report::diff::junit(&comparison),
        Form::Sarif => report::diff::sarif(&comparison, in_repository),
    })?;
    Ok(if complain(&comparison) { ExitCode::from(EXCEEDED) } else { ExitCode::SUCCESS })
}

/// Standard input is one trace.
fn one_standard_input(arguments: &Diff) -> Result<(), Failure> {
    let all = [&arguments.before, &arguments.after].into_iter();
    let all = all.chain(&arguments.more_before).chain(&arguments.more_after);
    match all.filter(|path| *path == Path::new("-")).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::Message(String::from(
            "standard input is only one of the traces: name files for the others",
        ))),
    }
}

fn read(path: &Path, options: &Options, counts: bool) -> Result<Run, Failure> {
    let trace = input::read_part(path, &options.selection)?;
    let (mut explanation, losses) = match counts {
        true => explain::explain_each(&trace, options),
        false => (explain::explain(&trace, options), Vec::new()),
    };
    explanation.trace.path = input::name(path);
    let is_all = options.selection == Selection::default();
    if trace.calls.is_empty() && trace.ops.is_empty() {
        return Err(Failure::of(
            path,
            "no calls and no GPU operations to compare: record the program's CUDA calls",
        ));
    }
    if !is_all && explanation.chosen_calls == 0 {
        let why = "no calls match the selection, so there is nothing to compare: change --from, --to, --thread, \
                   --name or --range";
        return Err(Failure::of(path, why));
    }
    let figures = counts.then(|| Figures::of(&trace, &explanation, &losses));
    Ok(Run { kept: explain::diff::record_kinds(&trace), explanation, figures })
}

/// Prints the reasons of gates that are exceeded, and why others are inconclusive, on standard error; returns whether one is
/// exceeded.
fn complain(comparison: &Comparison) -> bool {
    let path = report::visible(comparison.after.first().map_or("", |trace| trace.path.as_str()));
    let reasons = reasons(&comparison.diff);
    reasons.iter().for_each(|reason| eprintln!("holdup: {path}: {}", reason.line));
    doubts(&comparison.diff).iter().for_each(|line| eprintln!("holdup: {path}: {line}"));
    !reasons.is_empty()
}

/// A source file's name from the working directory on, if it or the end of its path is there: a program may be recorded in a
/// container, or on another machine.
fn in_repository(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = Path::new(file);
    if let Ok(within) = path.strip_prefix(&here) {
        return within.to_string_lossy().into_owned();
    }
    let mut rest = path.components();
    while path.is_absolute() && rest.next().is_some() {
        let rest = rest.as_path();
        if !rest.as_os_str().is_empty() && here.join(rest).is_file() {
            return rest.to_string_lossy().into_owned();
        }
    }
    file.to_owned()
}
