//! The program's own lines, where fixes apply.

use explain::{Explanation, Place};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use trace::Trace;

/// Ends of the names of source files. A trace may name any file: a line of another one is not printed.
const ENDS: [&str; 12] = ["py", "pyx", "cu", "cuh", "cc", "cpp", "cxx", "c", "h", "hpp", "rs", "jl"];

/// Bytes of a file that are read.
const MOST_BYTES: u64 = 4 << 20;

/// Characters of a line that are kept.
const MOST_CHARACTERS: usize = 200;

/// Reads the lines at which fixes apply, as far as their files are here. Nothing is an error: a trace is often of another machine.
pub fn read(trace: &Trace, explanation: &mut Explanation) {
    let mut places: Vec<Place> = explanation.applied_places().cloned().collect();
    places.sort_unstable();
    places.dedup();
    let lines = places.into_iter().filter_map(|place| Some((line(trace, &place)?, place)));
    explanation.source_lines = lines.map(|(line, place)| (place, line)).collect();
}

/// A line without the white space around it; `None` if it is empty, or its file changed after the program was recorded.
fn line(trace: &Trace, place: &Place) -> Option<String> {
    let path = Path::new(&place.file);
    path.extension().and_then(|end| end.to_str()).filter(|end| ENDS.contains(end))?;
    // A device or a pipe may block.
    let about = path.metadata().ok().filter(|about| about.is_file())?;
    if let Some(epoch) = trace.meta.epoch_unix_ns.and_then(|ns| u64::try_from(ns).ok()) {
        about.modified().ok().filter(|at| *at <= UNIX_EPOCH + Duration::from_nanos(epoch))?;
    }
    let lines = BufReader::new(File::open(path).ok()?.take(MOST_BYTES)).lines();
    let line = lines.map_while(Result::ok).nth(place.line as usize - 1)?;
    let line: String = line.trim().chars().take(MOST_CHARACTERS).collect();
    (!line.is_empty()).then_some(line)
}
