//! Problems of inputs that are not traces.

use crate::error::Problem;
use crate::source;

/// Whether the bytes hold only printable characters.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| *byte < b' ' && !byte.is_ascii_whitespace() && *byte != 0x1b)
}

/// Problem of an input that is certainly not a trace. A text may be a listing after much other output of the program.
pub(crate) fn known(head: &[u8]) -> Option<Problem> {
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

/// The problem of a SQLite database from a stream: SQLite seeks in its file, and holdup makes no temporary copies.
pub(crate) fn needs_a_file() -> Problem {
    Problem::NotATrace {
        what: "a SQLite database without a file name".to_owned(),
        what_to_do: "name the file instead of piping it",
    }
}

/// The problem of an input that no importer recognizes.
pub(crate) fn no_format() -> Problem {
    let titles = source::ALL.map(|source| source.title);
    Problem::NotATrace {
        what: format!("not a trace that holdup reads ({})", titles.join(", ")),
        what_to_do: "export an .nsys-rep with `nsys export --type sqlite`",
    }
}
