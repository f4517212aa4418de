//! The error of a text that has titles of a table and no rows.

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
