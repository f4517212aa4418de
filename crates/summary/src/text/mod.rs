//! Reads the tables of a text, and skips all else: prompts, output of the program, talk.

mod amount;
mod cells;
mod line;
mod malformed;
mod names;
mod reader;
mod section;
mod title;

pub use malformed::Malformed;

use crate::model::Summary;
use reader::Reader;

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
