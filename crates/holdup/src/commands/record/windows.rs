//! The windows of a recorded program: parts of its run that it names files for (`holdup.record` in Python). Each is a range
//! over its time, which the program recorded.

use crate::failure::Failure;
use crate::readers::Readers;
use crate::save::Target;
use std::path::{Path, PathBuf};
use trace::{Ns, Selection, Trace};

/// How the range's name begins; the file comes behind it. The Python package writes the same.
const PREFIX: &str = "holdup.record ";

/// A part of a run with a file of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// The file.
    pub path: PathBuf,
    start: Ns,
    end: Ns,
}

/// The windows of a trace, in order of time. Those of one file that overlap, as of several processes, are one.
pub fn of(trace: &Trace) -> Vec<Window> {
    let ranges = &trace.ranges;
    let window = |at: usize| {
        let path = trace.text(ranges.name[at]).strip_prefix(PREFIX)?;
        Some(Window { path: path.into(), start: ranges.start[at], end: ranges.end[at] })
    };
    let mut windows: Vec<Window> = (0..ranges.len()).filter_map(window).collect();
    windows.sort_by_key(|window| (window.start, window.end));
    let mut joined: Vec<Window> = Vec::new();
    for window in windows {
        match joined.iter_mut().find(|known| known.path == window.path && window.start < known.end) {
            Some(known) => known.end = known.end.max(window.end),
            None => joined.push(window),
        }
    }
    joined
}

impl Window {
    /// Writes the window's part of the trace to its file for these readers, or to the first free one of `NAME-2`, `NAME-3` and so on; returns
    /// that part and where it is.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, trace: &Trace, readers: Readers) -> Result<(Trace, PathBuf), Failure> {
        let target = Target::new(&free(&self.path), false, readers)?;
        let selection = Selection { from: Some(self.start), to: Some(self.end), ..Selection::default() };
        let part = trace.clone().cut(&selection);
        let path = target.path().to_owned();
        target.write(&part)?;
        Ok((part, path))
    }
}

/// The first file of these names that is not there.
fn free(path: &Path) -> PathBuf {
    let (stem, extension) = (path.file_stem().unwrap_or_default(), path.extension());
    let numbered = (2..).map(|number| {
        let mut name = stem.to_owned();
        name.push(format!("-{number}"));
        if let Some(extension) = extension {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    });
    let mut names = std::iter::once(path.to_owned()).chain(numbered);
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Range;

    #[test]
    fn windows_of_one_file_that_overlap_are_one() {
        let mut trace = Trace::default();
        for (name, start, end) in [
            ("holdup.record /a.holdup", 10, 20),
            ("step 1", 10, 15),
            ("holdup.record /a.holdup", 12, 30),
            ("holdup.record /b.holdup", 25, 40),
            ("holdup.record /a.holdup", 50, 60),
        ] {
            let name = trace.strings.intern(name);
            trace.ranges.push(Range { start, end, name, ..Range::default() });
        }
        let found: Vec<_> = of(&trace).into_iter().map(|it| (it.path, it.start, it.end)).collect();
        let expected = [("/a.holdup", 10, 30), ("/b.holdup", 25, 40), ("/a.holdup", 50, 60)];
        assert_eq!(found, expected.map(|(path, start, end)| (PathBuf::from(path), start, end)));
    }

    #[test]
    fn no_file_is_replaced() {
        let directory = tempfile::tempdir().expect("can create");
        let path = directory.path().join("a.b.holdup");
        assert_eq!(free(&path), path);
        std::fs::write(&path, "").expect("can write");
        std::fs::write(directory.path().join("a.b-2.holdup"), "").expect("can write");
        assert_eq!(free(&path), directory.path().join("a.b-3.holdup"));
    }
}
