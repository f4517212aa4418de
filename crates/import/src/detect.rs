//! Recognizes a format by content, never by name.

use crate::importer::{Fit, Importer, Seen};
use crate::refusal::known;
use crate::{Problem, gather, holdup_file, kineto, nsys, nvprof, printed};

/// Every importer, in the order in which they check an input. Listings are checked before JSON: a program's output may start
/// with a bracket.
pub(crate) static IMPORTERS: &[&Importer] = &[
    &holdup_file::IMPORTER,
    &gather::IMPORTER,
    &printed::IMPORTER,
    &nvprof::IMPORTER,
    &nsys::IMPORTER,
    &kineto::IMPORTER,
];

/// Format of an input.
pub(crate) enum Format {
    /// Compressed with gzip.
    Gzip,
    /// A SQLite database; its tables show which tool wrote it.
    Sqlite,
    /// A trace.
    Trace(&'static Importer),
}

/// The format of an input that begins with `head`.
///
/// # Errors
/// The problem says what else the input is, and what to do about it.
pub(crate) fn format(head: &[u8]) -> Result<Format, Problem> {
    match head {
        [] => Err(Problem::Empty),
        [0x1f, 0x8b, ..] => Ok(Format::Gzip),
        _ if head.starts_with(b"SQLite format 3\0") => Ok(Format::Sqlite),
        _ => importer(&Seen::Head(head), || known(head).unwrap_or(Problem::Unknown)).map(Format::Trace),
    }
}

/// The importer that fits an input best; one that only may fit gets no input that is certainly not a trace.
///
/// # Errors
/// The problem says what else the input is; `refusal` if nothing fits.
pub(crate) fn importer(seen: &Seen<'_>, refusal: impl Fn() -> Problem) -> Result<&'static Importer, Problem> {
    let fitting = |wanted: Fit| IMPORTERS.iter().copied().find(|importer| (importer.sniff)(seen) == wanted);
    if let Some(importer) = fitting(Fit::Yes) {
        return Ok(importer);
    }
    if let Seen::Head(head) = seen
        && let Some(problem) = known(head)
    {
        return Err(problem);
    }
    fitting(Fit::Maybe).ok_or_else(refusal)
}
