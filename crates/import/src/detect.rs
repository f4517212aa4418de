//! Recognising a format by content, never by name.

use crate::Problem;

/// Formats that can be told apart by their first bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Json,
    Gzip,
    Sqlite,
    Holdup,
    /// One process's file of a spool.
    Spool,
}

/// Bytes that recognition wants to see.
pub(crate) const ENOUGH: usize = 4096;

/// The format of a file that starts with `head`, or what else it is and what to do about it.
pub(crate) fn format(head: &[u8]) -> Result<Format, Problem> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    match (head, first) {
        ([], _) => Err(Problem::Empty),
        ([0x1f, 0x8b, ..], _) => Ok(Format::Gzip),
        (_, _) if head.starts_with(b"SQLite format 3\0") => Ok(Format::Sqlite),
        ([b'P', b'K', 3 | 5, 4 | 6, ..], _) => Ok(Format::Holdup),
        (_, _) if head.starts_with(&spool::MAGIC.to_ne_bytes()) => Ok(Format::Spool),
        (_, _) if is_of_another_version(head) => Err(another_version()),
        (_, Some(b'{' | b'[')) => Ok(Format::Json),
        _ => Err(not_a_trace(head)),
    }
}

/// Whether a file is one of a spool that this version cannot read.
pub(crate) fn is_of_another_version(bytes: &[u8]) -> bool {
    bytes.starts_with(spool::ANY_VERSION) && !bytes.starts_with(&spool::MAGIC.to_ne_bytes())
}

pub(crate) fn another_version() -> Problem {
    Problem::NotATrace {
        what: "a spool of another version of holdup".to_owned(),
        what_to_do: "read it with the version that recorded it",
    }
}

fn not_a_trace(head: &[u8]) -> Problem {
    let starts = |prefix: &str| head.trim_ascii_start().starts_with(prefix.as_bytes());
    let (what, what_to_do) = if starts("version https://git-lfs") {
        ("a git-lfs pointer, not the file it stands for", "fetch it with `git lfs pull`")
    } else if starts("<") {
        (
            "XML, such as a Visual Profiler session, without trace records",
            "name the SQLite file that `nvprof -o` wrote",
        )
    } else if starts("==") {
        ("text printed by nvprof", "record again with `nvprof -o FILE` and name that file")
    } else if head.iter().all(|byte| *byte == 0) {
        ("nothing but zero bytes at its start: a sparse or unfinished file", "copy or export it again")
    } else if head.iter().all(|byte| byte.is_ascii_whitespace()) {
        ("white space only", "record or export the trace again")
    } else {
        (
            "not a format holdup reads (Kineto JSON, Nsight Systems or nvprof SQLite, .holdup)",
            "turn an .nsys-rep into SQLite with `nsys export --type sqlite`",
        )
    };
    Problem::NotATrace { what: what.to_owned(), what_to_do }
}
