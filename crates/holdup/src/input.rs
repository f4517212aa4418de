//! Reading a trace, with a progress bar where that takes long.

use crate::failure::Failure;
use crate::progress::Bar;
use std::path::Path;
use trace::Trace;

/// Reads a trace of any format.
pub fn read(path: &Path) -> Result<Trace, Failure> {
    read_as(path, &name(path))
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
