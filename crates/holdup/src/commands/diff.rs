//! `holdup diff`

use crate::args::{Diff, Document, Limit};
use crate::failure::Failure;
use crate::output::{self, Color};
use crate::{input, time};
use explain::Options;
use explain::diff::Run;
use report::diff::{Comparison, judged, reason};
use report::units;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trace::Selection;

/// Exit status when something is slower by more than `--fail-over`.
const EXCEEDED: u8 = 1;

/// Compares the traces of two sides, and judges the difference.
pub fn run(arguments: &Diff, color: Color) -> Result<ExitCode, Failure> {
    let selection = arguments.filter.selection();
    time::check(&selection)?;
    one_standard_input(arguments)?;
    let options = Options { min_wait_ns: arguments.min_wait, selection };
    let side = |first: &PathBuf, more: &[PathBuf]| -> Result<Vec<Run>, Failure> {
        [first].into_iter().chain(more).map(|path| read(path, &options)).collect()
    };
    let before = side(&arguments.before, &arguments.more_before)?;
    let after = side(&arguments.after, &arguments.more_after)?;
    let diff = explain::diff::diff(&before, &after);
    let summaries = |runs: Vec<Run>| runs.into_iter().map(|run| run.explanation.trace).collect();
    let comparison = Comparison { before: summaries(before), after: summaries(after), diff };
    output::print(&match arguments.format {
        Document::Text => report::diff::text(&comparison, output::page(color), arguments.all),
        Document::Json => report::diff::json(&comparison),
        Document::Markdown => report::diff::markdown(&comparison, arguments.all),
    })?;
    let exceeded = arguments.fail_over.is_some_and(|limit| complain(&comparison, limit));
    Ok(if exceeded { ExitCode::from(EXCEEDED) } else { ExitCode::SUCCESS })
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

fn read(path: &Path, options: &Options) -> Result<Run, Failure> {
    let trace = input::read_part(path, &options.selection)?;
    let mut explanation = explain::explain(&trace, options);
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
    Ok(Run { kept: explain::diff::kept(&trace), explanation })
}

/// Prints on standard error that the program became slower by more than the limit; returns whether it did, beyond the spread of
/// several traces.
fn complain(comparison: &Comparison, limit: Limit) -> bool {
    let (judged, change) = judged(&comparison.diff);
    let exceeded = change.beyond_spread && limit.is_exceeded(change.before.ns, change.after.ns);
    if exceeded {
        let limit = match limit {
            Limit::Share(share) => units::percent(f64::from(share) / 100_000.0),
            Limit::Time(ns) => units::duration(ns),
        };
        let path = comparison.after.first().map_or("", |trace| trace.path.as_str());
        eprintln!("holdup: {}: {}, over the limit of {limit}", report::visible(path), reason(judged, change));
    }
    exceeded
}
