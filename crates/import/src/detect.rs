//! Recognizes a format by content, never by name.

use crate::Problem;
use crate::importer::{Fit, Importer, Seen};

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
/// What else the input is, and what to do about it.
pub(crate) fn format(head: &[u8]) -> Result<Format, Problem> {
    match head {
        [] => Err(Problem::Empty),
        [0x1f, 0x8b, ..] => Ok(Format::Gzip),
        _ if head.starts_with(b"SQLite format 3\0") => Ok(Format::Sqlite),
        _ => importer(&Seen::Head(head), || known(head).unwrap_or_else(no_format)).map(Format::Trace),
    }
}

/// The importer that fits an input best; one that only may fit gets no input that is certainly not a trace.
///
/// # Errors
/// What else the input is; `refusal` if nothing fits.
pub(crate) fn importer(seen: &Seen<'_>, refusal: impl Fn() -> Problem) -> Result<&'static Importer, Problem> {
    let fitting =
        |wanted: Fit| crate::IMPORTERS.iter().copied().find(|importer| (importer.sniff)(seen) == wanted);
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

/// Whether the bytes hold only printable characters.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| *byte < b' ' && !byte.is_ascii_whitespace() && *byte != 0x1b)
}

/// Problem of an input that is certainly not a trace. A text may be a listing after much other output of the program.
fn known(head: &[u8]) -> Option<Problem> {
    let starts = |prefix: &str| head.trim_ascii_start().starts_with(prefix.as_bytes());
    let (what, what_to_do) = if starts("version https://git-lfs") {
        ("a git-lfs pointer, not the file itself", "fetch it with `git lfs pull`")
    } else if starts("<") {
        (
            "XML, such as a Visual Profiler session, without trace records",
            "name the SQLite file that `nvprof -o` wrote",
        )
    } else if head.iter().all(|byte| *byte == 0) {
        ("only zero bytes at its start: a sparse or unfinished file", "copy or export it again")
    } else if head.iter().all(|byte| byte.is_ascii_whitespace()) {
        ("white space only", "record or export the trace again")
    } else if is_text(head) {
        return None;
    } else {
        return Some(no_format());
    };
    Some(Problem::NotATrace { what: what.to_owned(), what_to_do })
}

/// The problem of an input that no importer recognizes.
pub(crate) fn no_format() -> Problem {
    let mut titles: Vec<_> = crate::IMPORTERS.iter().map(|importer| importer.source.title).collect();
    titles.dedup();
    Problem::NotATrace {
        what: format!("not a trace that holdup reads ({})", titles.join(", ")),
        what_to_do: "export an .nsys-rep with `nsys export --type sqlite`",
    }
}
