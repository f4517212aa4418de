//! `holdup explain`

use super::{gains, source_lines};
use crate::args::{Explain, Explanation as Form, Gains};
use crate::failure::{Failure, UNREADABLE};
use crate::output::{self, Color};
use crate::readers::Readers;
use crate::save::{self, Target};
use crate::{input, time};
use explain::{Explanation, Options};
use report::{Page, document, explanation, units};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trace::{Selection, Trace};

/// Exit status when a finding exceeds `--fail-over`.
const EXCEEDED: u8 = 1;

/// Explains every readable trace, and prints an error for each other one.
pub fn run(arguments: &Explain, color: Color) -> Result<ExitCode, Failure> {
    let filter = arguments.filter.selection();
    time::check(&filter)?;
    let readers = Readers::of(arguments.traces.iter().map(PathBuf::as_path));
    let target =
        arguments.output.as_deref().map(|file| Target::new(file, arguments.force, readers)).transpose()?;
    let (code, explained) = match arguments.format {
        Form::Html => (ExitCode::SUCCESS, vec![write_page(arguments, &filter, target)?]),
        Form::Text | Form::Json | Form::Markdown => write_texts(arguments, filter, target, color)?,
    };
    let Some(limit) = arguments.fail_over else { return Ok(code) };
    judgeable(&explained)?;
    let exceeded = complain(&explained, limit);
    Ok(if exceeded && code != ExitCode::from(UNREADABLE) { ExitCode::from(EXCEEDED) } else { code })
}

/// One text after another, and JSON at the end.
fn write_texts(
    arguments: &Explain,
    filter: Selection,
    target: Option<Target>,
    color: Color,
) -> Result<(ExitCode, Vec<Explanation>), Failure> {
    let options = Options { min_wait_ns: arguments.min_wait, selection: filter };
    let page = if target.is_some() { Page::default() } else { output::page(color) };
    let (mut code, mut explained, mut file) = (ExitCode::SUCCESS, Vec::new(), String::new());
    let mut ranks = Vec::new();
    let mut say = |text: &str| match target {
        Some(_) => {
            file.push_str(text);
            Ok(())
        }
        None => output::print(text),
    };
    for path in &arguments.traces {
        match one(path, &options, arguments.gains) {
            Ok((explanation, trace)) => {
                if arguments.traces.len() > 1 && explain::has_collectives(&trace) {
                    ranks.push((explained.len(), trace));
                }
                if arguments.format != Form::Json {
                    let gap = if explained.is_empty() { "" } else { "\n" };
                    say(&format!("{gap}{}", document(&explanation, arguments, page)))?;
                }
                explained.push(explanation);
            }
            Err(failure) => code = failure.report(),
        }
    }
    if let Some(text) = compare(&ranks, &mut explained, page).filter(|_| arguments.format != Form::Json) {
        let is_markdown = arguments.format == Form::Markdown;
        say(&if is_markdown { format!("\n```\n{text}```\n") } else { format!("\n{text}") })?;
    }
    if arguments.format == Form::Json && !explained.is_empty() {
        say(&json(&explained, arguments.traces.len(), arguments.all))?;
    }
    if let Some(target) = target.filter(|_| !explained.is_empty()) {
        target.write_with(|out| Ok(out.write_all(file.as_bytes())?))?;
    }
    Ok((code, explained))
}

/// The page of one trace, into a file or to standard output.
fn write_page(
    arguments: &Explain,
    filter: &Selection,
    target: Option<Target>,
) -> Result<Explanation, Failure> {
    let [path] = arguments.traces.as_slice() else {
        let message = "--format html makes a page of one trace: run it once per trace";
        return Err(Failure::Message(message.to_owned()));
    };
    if target.is_none() {
        output::page_has_a_reader()?;
    }
    let (page, explanation) = page(path, arguments.min_wait, filter, arguments.all, arguments.gains)?;
    save::page(&page, target)?;
    Ok(explanation)
}

/// The page of a trace, and its explanation.
pub fn page(
    path: &Path,
    min_wait_ns: trace::Ns,
    filter: &Selection,
    all: bool,
    wanted: Gains,
) -> Result<(page::Page, Explanation), Failure> {
    let trace = input::read_part(path, filter)?;
    let options = Options { min_wait_ns, selection: filter.clone() };
    let (mut explanation, losses) = super::explanation::each(&trace, &options);
    explanation.trace.path = input::name(path);
    gains::predict(&trace, &mut explanation, &losses, filter, wanted);
    source_lines::read(&trace, &mut explanation);
    let options = page::Options { selection: filter.clone(), all };
    Ok((page::of_trace(&trace, &explanation, &losses, &options), explanation))
}

/// Compares the ranks of traces, each with the number of its explanation, and lets these have what it finds; returns that in
/// words. `None` for traces that do not state that they are of ranks, and are not of one run.
fn compare(ranks: &[(usize, Trace)], explained: &mut [Explanation], page: Page) -> Option<String> {
    let traces: Vec<&Trace> = ranks.iter().map(|(_, trace)| trace).collect();
    let names: Vec<String> = ranks.iter().map(|(at, _)| explained[*at].trace.path.clone()).collect();
    match explain::compare(&traces) {
        Ok(mut found) => {
            let text = report::ranks::of_traces(&found, &names, page).to_string();
            // Numbers of explanations, as JSON has them.
            found.ranks.iter_mut().for_each(|rank| rank.trace = rank.trace.map(|at| ranks[at].0));
            ranks.iter().for_each(|(at, _)| explained[*at].accounts.ranks = Some(found.clone()));
            Some(text)
        }
        Err(_) if traces.len() < 2 || !explain::state_ranks(&traces) => None,
        Err(unfit) => Some(report::ranks::unfit(unfit, &names, page).to_string()),
    }
}

fn one(path: &Path, options: &Options, wanted: Gains) -> Result<(Explanation, Trace), Failure> {
    let trace = input::read_part(path, &options.selection)?;
    // Single losses of a large trace take long, and only predictions need them.
    let (mut explanation, losses) = match replay::is_ranked(&trace) || wanted == Gains::Always {
        true => super::explanation::each(&trace, options),
        false => (super::explanation::alone(&trace, options), Vec::new()),
    };
    explanation.trace.path = input::name(path);
    gains::predict(&trace, &mut explanation, &losses, &options.selection, wanted);
    source_lines::read(&trace, &mut explanation);
    Ok((explanation, trace))
}

fn document(explanation: &Explanation, arguments: &Explain, page: Page) -> String {
    let document = |form| explanation::document(explanation, form, arguments.all).to_string();
    match arguments.format {
        Form::Text => document(document::Form::Text(page)),
        Form::Markdown => document(document::Form::Markdown),
        Form::Json | Form::Html => explanation::json(explanation, arguments.all),
    }
}

/// One object for one trace; an array if several were named, even if only one is readable.
fn json(explained: &[Explanation], asked: usize, all: bool) -> String {
    match explained {
        [only] if asked == 1 => explanation::json(only, all),
        several => explanation::json_array(several, all),
    }
}

/// Refuses to judge a trace without selected calls: that is no pass.
fn judgeable(explained: &[Explanation]) -> Result<(), Failure> {
    let Some(empty) = explained.iter().find(|explanation| explanation.chosen_calls == 0) else {
        return Ok(());
    };
    let why = match empty.trace.calls {
        0 => "no calls for --fail-over to judge: record the program's CUDA calls",
        _ => {
            "no calls match the selection, so --fail-over judges nothing: change --from, --to, --thread, --name or --range"
        }
    };
    Err(Failure::of(Path::new(&empty.trace.path), why))
}

/// Prints the findings over the limit on standard error; returns whether there are any.
fn complain(explained: &[Explanation], limit: trace::Ns) -> bool {
    let findings = explained.iter().flat_map(|one| one.findings.iter().map(move |finding| (one, finding)));
    let over: Vec<_> = findings.filter(|(_, finding)| finding.lost_ns > limit).collect();
    for (explanation, finding) in &over {
        let (lost, limit) = (units::duration(finding.lost_ns), units::duration(limit));
        let (path, id) = (&explanation.trace.path, &finding.id);
        eprintln!("holdup: {path}: {id} lost {lost}, over the limit of {limit}");
    }
    !over.is_empty()
}
