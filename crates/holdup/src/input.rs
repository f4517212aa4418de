//! Reading a trace, with a progress bar where that takes long.

use crate::failure::Failure;
use crate::progress::Bar;
use std::collections::BTreeSet;
use std::path::Path;
use trace::{Selection, Trace, marks};

/// Reads a trace of any format.
pub fn read(path: &Path) -> Result<Trace, Failure> {
    read_as(path, &name(path))
}

/// Reads a trace that somebody wants to see a part of, which must be in it.
pub fn read_part(path: &Path, selection: &Selection) -> Result<Trace, Failure> {
    let trace = read(path)?;
    match &selection.range {
        Some(wanted) if !selection.has_range(&trace) => Err(Failure::of(path, no_range(&trace, wanted))),
        _ => Ok(trace),
    }
}

/// That no range has such a name, and which names are like it.
fn no_range(trace: &Trace, wanted: &str) -> String {
    /// As many names as one line takes.
    const NAMES: usize = 5;
    const LONGEST: usize = 40;
    let ranges = trace.ranges.ids().filter(|range| marks(trace, *range));
    let names: BTreeSet<&str> = ranges.map(|range| trace.text(trace.ranges.name[range.index()])).collect();
    let mut names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return String::from("the trace has no ranges for --range; mark some with NVTX or record_function");
    }
    let wanted_lower = wanted.to_lowercase();
    names.sort_by_cached_key(|name| strsim::osa_distance(&name.to_lowercase(), &wanted_lower));
    let others = if names.len() > NAMES { ", …" } else { "" };
    let shown: Vec<String> = names.iter().take(NAMES).map(|name| report::elide(name, LONGEST)).collect();
    format!("no range has {wanted:?} in its name; name one of {}{others}", shown.join(", "))
}

/// Reads a trace that a person knows by that name.
pub fn read_as(path: &Path, name: &str) -> Result<Trace, Failure> {
    let mut bar = Bar::new("reading");
    Ok(import::open(path, &mut |progress| bar.update(name, progress.done, progress.total))?)
}

/// What a trace is called in headings.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { String::from("standard input") } else { path.display().to_string() }
}
