//! Reading a trace, with a progress bar if that takes long.

use crate::failure::Failure;
use crate::progress::Bar;
use import::{ImportError, Problem};
use std::collections::BTreeSet;
use std::path::Path;
use summary::Summary;
use trace::{Selection, Trace, marks};

/// An input that holdup explains.
pub enum Input {
    /// A trace.
    Trace(Box<Trace>),
    /// The sums of printed summary tables.
    Tables(Vec<Summary>),
}

/// Reads a part of a trace, or else summary tables, which have no parts.
pub fn read_any(path: &Path, selection: &Selection) -> Result<Input, Failure> {
    let problem = match import(path, &name(path)) {
        Ok(trace) => return part(path, trace, selection).map(|trace| Input::Trace(Box::new(trace))),
        Err(problem) => problem,
    };
    let Problem::NoEvents { text, .. } = &problem.problem else { return Err(problem.into()) };
    let tables = summary::read(text).map_err(|malformed| Failure::of(path, malformed))?;
    match tables.is_empty() {
        true => Err(problem.into()),
        false if *selection != Selection::default() => {
            let what = "a summary table has no calls to select: leave out --from, --to, --thread, --name and --range";
            Err(Failure::of(path, what))
        }
        false => Ok(Input::Tables(tables)),
    }
}

/// Reads a trace of any format.
pub fn read(path: &Path) -> Result<Trace, Failure> {
    read_as(path, &name(path))
}

/// Reads a trace, and refuses a selection that matches nothing in it.
pub fn read_part(path: &Path, selection: &Selection) -> Result<Trace, Failure> {
    part(path, read(path)?, selection)
}

fn part(path: &Path, trace: Trace, selection: &Selection) -> Result<Trace, Failure> {
    match unmatched(&trace, selection) {
        Some(problem) => Err(Failure::of(path, problem)),
        None => Ok(trace),
    }
}

/// The first condition that nothing in the trace meets, and similar names.
fn unmatched(trace: &Trace, selection: &Selection) -> Option<String> {
    if let Some(wanted) = selection.thread.as_ref().filter(|_| !selection.has_thread(trace)) {
        let threads = trace.threads.ids().map(|id| trace.threads.row(id));
        let names = threads.map(|thread| match trace.text(thread.name) {
            "" => thread.tid.to_string(),
            name => format!("{name} ({})", thread.tid),
        });
        return Some(no_such("thread", wanted, names.collect()));
    }
    if let Some(wanted) = selection.name.as_ref().filter(|_| !selection.has_name(trace)) {
        let names = trace.calls.name.iter().chain(&trace.ops.name).map(|name| trace.text(*name).to_owned());
        return Some(no_such("call, operation or range", wanted, names.collect()));
    }
    if let Some(wanted) = selection.range.as_ref().filter(|_| !selection.has_range(trace)) {
        return Some(no_such_range(trace, wanted));
    }
    let (start, end) = trace.span()?;
    let lasts = report::units::duration(end - start);
    let is_empty = *selection != Selection::default() && !selection.has_events(trace);
    is_empty.then(|| {
        format!(
            "nothing in the trace, which lasts {lasts}, matches the selection: change --from, --to, --thread, --name or \
             --range"
        )
    })
}

fn no_such_range(trace: &Trace, wanted: &str) -> String {
    let ranges = trace.ranges.ids().filter(|range| marks(trace, *range));
    let names = ranges.map(|range| trace.text(trace.ranges.name[range.index()]).to_owned());
    let names: BTreeSet<String> = names.collect();
    if names.iter().all(String::is_empty) {
        return String::from("the trace has no ranges for --range: mark some with NVTX or record_function");
    }
    no_such("range", wanted, names)
}

/// Nothing of a kind matches: the most similar names.
pub fn no_such(kind: &str, wanted: &str, names: BTreeSet<String>) -> String {
    /// As many names as one line takes.
    const NAMES: usize = 5;
    const LONGEST: usize = 40;
    let wanted_lower = wanted.to_lowercase();
    let mut names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
    names.sort_by_cached_key(|name| strsim::osa_distance(&name.to_lowercase(), &wanted_lower));
    let others = if names.len() > NAMES { ", …" } else { "" };
    let shown: Vec<String> = names.iter().take(NAMES).map(|name| report::elide(name, LONGEST)).collect();
    if shown.is_empty() {
        return format!("the trace has no {kind} to match `{wanted}`: leave the option out");
    }
    format!("no {kind} matches `{wanted}`: try {}{others}", shown.join(", "))
}

/// Reads a trace under a name for people.
pub fn read_as(path: &Path, name: &str) -> Result<Trace, Failure> {
    Ok(import(path, name)?)
}

fn import(path: &Path, name: &str) -> Result<Trace, ImportError> {
    let mut bar = Bar::new("reading");
    import::open(path, &mut |progress| bar.update(name, progress.done, progress.total))
}

/// A trace's name in headings.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { String::from("standard input") } else { path.display().to_string() }
}
