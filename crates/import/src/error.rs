//! Errors of reading an input: where, what, and what to do.

use std::path::PathBuf;

/// An input that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}", path = path.display())]
pub struct ImportError {
    /// The input.
    pub path: PathBuf,
    /// Problem with the input.
    #[source]
    pub problem: Problem,
}

/// Problem with an input. Each message states what to do.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file system failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file has no bytes.
    #[error("the file is empty: record or export the trace again")]
    Empty,
    /// A directory, a device, a socket.
    #[error("is {0}, not a file: name the trace file itself")]
    NotAFile(&'static str),
    /// Recognized as something that is not a trace.
    #[error("{what}: {what_to_do}")]
    NotATrace {
        /// Description of the input.
        what: String,
        /// Remedy: what to do instead.
        what_to_do: &'static str,
    },
    /// A text without events. It may have sums, for a reader of these.
    #[error("{problem}")]
    NoEvents {
        /// Problem of the text as a trace.
        problem: Box<Problem>,
        /// The whole text.
        text: Vec<u8>,
    },
    /// Of no kind that is known.
    #[error(
        "not a trace that holdup reads ({}): record one with `holdup record`, or export an .nsys-rep with `nsys export --type sqlite`",
        crate::refusal::titles()
    )]
    Unknown,
    /// A SQLite file that is damaged or fails a query.
    #[error("SQLite: {0}: export the trace again")]
    Sqlite(#[from] rusqlite::Error),
    /// A `.holdup` file that cannot be read.
    #[error("{0}")]
    Holdup(#[from] trace::FileError),
    /// Compressed data that cannot be inflated from the start.
    #[error("damaged gzip data at byte {at}: {reason}: copy or export the trace again")]
    Gzip {
        /// Offset of the damage in the compressed file.
        at: u64,
        /// The decoder's message.
        reason: String,
    },
    /// JSON that does not parse.
    #[error("not valid JSON at byte {at}: {reason}: export the trace again")]
    Json {
        /// Offset in the (inflated) text.
        at: u64,
        /// Reason why the text is not valid there.
        reason: &'static str,
    },
}
