//! `holdup explain`

use super::{gains, source_lines};
use crate::args::{Explain, Explanation as Form, Gains};
use crate::failure::{Failure, UNREADABLE};
use crate::input::{self, Input};
use crate::output::{self, Color};
use crate::readers::Readers;
use crate::save::{self, Target};
use crate::time;
use explain::{Explanation, Options};
use report::summary_table::{self, Judged};
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
    let (code, all) = match arguments.format {
        Form::Html => {
            let explained = write_page(arguments, &filter, target)?;
            (ExitCode::SUCCESS, All { explained: vec![explained], ..All::default() })
        }
        Form::Text | Form::Json | Form::Markdown => write_texts(arguments, filter, target, color)?,
    };
    let Some(limit) = arguments.fail_over else { return Ok(code) };
    judgeable(&all)?;
    let exceeded = complain(&all.explained, limit);
    Ok(if exceeded && code != ExitCode::from(UNREADABLE) { ExitCode::from(EXCEEDED) } else { code })
}

/// All inputs that could be read.
#[derive(Default)]
struct All {
    explained: Vec<Explanation>,
    tables: Vec<Judged>,
    /// The order of the inputs: an explanation or the tables of a text, by number.
    order: Vec<One>,
}

enum One {
    Trace(usize),
    Tables(usize),
}

/// One text after another, and JSON at the end.
fn write_texts(
    arguments: &Explain,
    filter: Selection,
    target: Option<Target>,
    color: Color,
) -> Result<(ExitCode, All), Failure> {
    let options = Options { min_wait_ns: arguments.min_wait, selection: filter };
    let page = if target.is_some() { Page::default() } else { output::page(color) };
    let (mut code, mut all, mut file) = (ExitCode::SUCCESS, All::default(), String::new());
    let mut ranks = Vec::new();
    let mut say = |text: &str| match target {
        Some(_) => {
            file.push_str(text);
            Ok(())
        }
        None => output::print(text),
    };
    for path in &arguments.traces {
        let text = match one(path, &options, arguments.gains) {
            Ok(Read::Trace(explanation, trace)) => {
                if arguments.traces.len() > 1 && explain::has_collectives(&trace) {
                    ranks.push((all.explained.len(), *trace));
                }
                let text = document(&explanation, arguments, page);
                all.order.push(One::Trace(all.explained.len()));
                all.explained.push(*explanation);
                text
            }
            Ok(Read::Tables(judged)) => {
                let text = of_tables(&judged, arguments, page);
                all.order.push(One::Tables(all.tables.len()));
                all.tables.push(judged);
                text
            }
            Err(failure) => {
                code = failure.report();
                continue;
            }
        };
        if arguments.format != Form::Json {
            let gap = if all.order.len() == 1 { "" } else { "\n" };
            say(&format!("{gap}{text}"))?;
        }
    }
    if let Some(text) = compare(&ranks, &mut all.explained, page).filter(|_| arguments.format != Form::Json) {
        let is_markdown = arguments.format == Form::Markdown;
        say(&if is_markdown { format!("\n```\n{text}```\n") } else { format!("\n{text}") })?;
    }
    if arguments.format == Form::Json && !all.order.is_empty() {
        say(&json(&all, arguments.traces.len(), arguments.all))?;
    }
    if let Some(target) = target.filter(|_| !all.order.is_empty()) {
        target.write_with(|out| Ok(out.write_all(file.as_bytes())?))?;
    }
    Ok((code, all))
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
    let trace = match input::read_any(path, filter)? {
        Input::Trace(trace) => *trace,
        Input::Tables(_) => {
            let what = "a summary table makes no page: use --format text, markdown or json";
            return Err(Failure::of(path, what));
        }
    };
    let (page, explanation) = page(trace, path, arguments.min_wait, filter, arguments.all, arguments.gains);
    save::page(&page, target)?;
    Ok(explanation)
}

/// The page of a trace, and its explanation.
pub fn page(
    trace: Trace,
    path: &Path,
    min_wait_ns: trace::Ns,
    filter: &Selection,
    all: bool,
    wanted: Gains,
) -> (page::Page, Explanation) {
    let options = Options { min_wait_ns, selection: filter.clone() };
    let (mut explanation, losses) = super::explanation::each(&trace, &options);
    explanation.trace.path = input::name(path);
    gains::predict(&trace, &mut explanation, &losses, filter, wanted);
    source_lines::read(&trace, &mut explanation);
    let options = page::Options { selection: filter.clone(), all };
    (page::of_trace(&trace, &explanation, &losses, &options), explanation)
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

/// An input that was read and explained.
enum Read {
    Trace(Box<Explanation>, Box<Trace>),
    Tables(Judged),
}

fn one(path: &Path, options: &Options, wanted: Gains) -> Result<Read, Failure> {
    let trace = match input::read_any(path, &options.selection)? {
        Input::Trace(trace) => trace,
        Input::Tables(tables) => return Ok(Read::Tables(Judged::new(input::name(path), tables))),
    };
    // Single losses of a large trace take long, and only predictions need them.
    let (mut explanation, losses) = match replay::is_ranked(&trace) || wanted == Gains::Always {
        true => super::explanation::each(&trace, options),
        false => (super::explanation::alone(&trace, options), Vec::new()),
    };
    explanation.trace.path = input::name(path);
    gains::predict(&trace, &mut explanation, &losses, &options.selection, wanted);
    source_lines::read(&trace, &mut explanation);
    Ok(Read::Trace(Box::new(explanation), trace))
}

fn of_tables(judged: &Judged, arguments: &Explain, page: Page) -> String {
    let document = |form| summary_table::document(judged, form, arguments.all).to_string();
    match arguments.format {
        Form::Text => document(document::Form::Text(page)),
        Form::Markdown => document(document::Form::Markdown),
        Form::Json | Form::Html => summary_table::json(judged),
    }
}

fn document(explanation: &Explanation, arguments: &Explain, page: Page) -> String {
    let document = |form| explanation::document(explanation, form, arguments.all).to_string();
    match arguments.format {
        Form::Text => document(document::Form::Text(page)),
        Form::Markdown => document(document::Form::Markdown),
        Form::Json | Form::Html => explanation::json(explanation, arguments.all),
    }
}

/// One object for one input; an array if several were named, even if only one is readable.
fn json(all: &All, asked: usize, in_full: bool) -> String {
    let one = |one: &One| match one {
        One::Trace(at) => explanation::json(&all.explained[*at], in_full),
        One::Tables(at) => summary_table::json(&all.tables[*at]),
    };
    match all.order.as_slice() {
        [only] if asked == 1 => one(only),
        _ if all.tables.is_empty() => explanation::json_array(&all.explained, in_full),
        several => {
            let indented = |text: String| format!("  {}", text.trim_end().replace('\n', "\n  "));
            let bodies: Vec<String> = several.iter().map(|input| indented(one(input))).collect();
            format!("[\n{}\n]\n", bodies.join(",\n"))
        }
    }
}

/// Refuses to judge a trace without selected calls: that is no pass.
fn judgeable(all: &All) -> Result<(), Failure> {
    if let Some(tables) = all.tables.first() {
        let why = "a summary table has no findings for --fail-over to judge: record a trace";
        return Err(Failure::of(Path::new(&tables.path), why));
    }
    let Some(empty) = all.explained.iter().find(|explanation| explanation.chosen_calls == 0) else {
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
