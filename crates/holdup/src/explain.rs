//! `holdup explain`

use crate::args::{Document, Explain};
use crate::failure::{Failure, UNREADABLE};
use crate::output::{self, Color};
use crate::{input, time};
use explain::{Explanation, Options};
use report::{Page, explanation, units};
use std::path::Path;
use std::process::ExitCode;

/// Exit status when a finding exceeds `--fail-over`.
const EXCEEDED: u8 = 1;

/// Explains every trace that can be read, and says of the others why not.
pub fn run(arguments: &Explain, color: Color) -> Result<ExitCode, Failure> {
    let filter = arguments.filter.selection();
    time::check(&filter)?;
    let options = Options { min_wait_ns: arguments.min_wait, selection: filter };
    let page = output::page(color);
    let (mut code, mut explained) = (ExitCode::SUCCESS, Vec::new());
    for path in &arguments.traces {
        match one(path, &options) {
            Ok(explanation) => {
                if arguments.format != Document::Json {
                    let gap = if explained.is_empty() { "" } else { "\n" };
                    output::print(&format!("{gap}{}", document(&explanation, arguments, page)))?;
                }
                explained.push(explanation);
            }
            Err(failure) => code = failure.report(),
        }
    }
    if arguments.format == Document::Json && !explained.is_empty() {
        output::print(&json(&explained, arguments.traces.len()))?;
    }
    let exceeded = arguments.fail_over.is_some_and(|limit| complain(&explained, limit));
    Ok(if exceeded && code != ExitCode::from(UNREADABLE) { ExitCode::from(EXCEEDED) } else { code })
}

fn one(path: &Path, options: &Options) -> Result<Explanation, Failure> {
    let trace = input::read(path)?;
    let mut explanation = explain::explain(&trace, options);
    explanation.trace.path = input::name(path);
    Ok(explanation)
}

fn document(explanation: &Explanation, arguments: &Explain, page: Page) -> String {
    match arguments.format {
        Document::Text => explanation::text(explanation, page, arguments.all),
        Document::Markdown => explanation::markdown(explanation, arguments.all),
        Document::Json => explanation::json(explanation),
    }
}

/// One object for one trace; an array where several were asked for, however many could be read.
fn json(explained: &[Explanation], asked: usize) -> String {
    match explained {
        [only] if asked == 1 => explanation::json(only),
        several => explanation::json_array(several),
    }
}

/// Names the findings over the limit on standard error; whether there are any.
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
