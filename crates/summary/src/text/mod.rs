//! Reads the tables of a text, and skips all else: prompts, output of the program, talk.

mod amount;
mod cells;
mod line;
mod names;
mod reader;
mod section;
mod title;

use crate::model::Summary;
use reader::Reader;

/// A text with titles of a summary table, but without a row below them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: titles of {}'s summary table without a readable row below: {}", .tool, REMEDY)]
pub struct Malformed {
    /// Number of the line with the titles, from 1.
    pub line: usize,
    /// The profiler, for people.
    pub tool: &'static str,
}

const REMEDY: &str = "copy the whole table, with titles and rows, as the profiler printed it";

/// The sums of each profile in a text, in its order; none if it has no summary table.
///
/// # Errors
/// Where the text has titles of a table, but no rows.
pub fn read(text: &[u8]) -> Result<Vec<Summary>, Malformed> {
    let mut reader = Reader::default();
    let lines = line::lines(text);
    let mut at = 0;
    while at < lines.len() {
        at += reader.take(&lines[at..], at + 1).max(1);
    }
    reader.done()
}
