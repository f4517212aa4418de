//! Recognising a format by content, never by name.

use crate::{Problem, printed};

/// Formats that can be told apart by their first bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Json,
    Gzip,
    Sqlite,
    Holdup,
    /// One process's file of a spool.
    Spool,
    /// What nvprof or nsys printed, or another text.
    Printed,
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
        // Before JSON: a program may print a bracket first.
        (_, Some(_)) if is_text(head) && printed::begins(head) => Ok(Format::Printed),
        (_, Some(b'{' | b'[')) => Ok(Format::Json),
        _ => known(head).map_or_else(|| Ok(Format::Printed), Err),
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

/// Whether nothing but characters that one prints is in the bytes.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| *byte < b' ' && !byte.is_ascii_whitespace() && *byte != 0x1b)
}

/// What a file is that is no trace for certain. A text may be a listing whose program printed much before.
fn known(head: &[u8]) -> Option<Problem> {
    let starts = |prefix: &str| head.trim_ascii_start().starts_with(prefix.as_bytes());
    let (what, what_to_do) = if starts("version https://git-lfs") {
        ("a git-lfs pointer, not the file it stands for", "fetch it with `git lfs pull`")
    } else if starts("<") {
        (
            "XML, such as a Visual Profiler session, without trace records",
            "name the SQLite file that `nvprof -o` wrote",
        )
    } else if head.iter().all(|byte| *byte == 0) {
        ("nothing but zero bytes at its start: a sparse or unfinished file", "copy or export it again")
    } else if head.iter().all(|byte| byte.is_ascii_whitespace()) {
        ("white space only", "record or export the trace again")
    } else if is_text(head) {
        return None;
    } else {
        return Some(no_format());
    };
    Some(Problem::NotATrace { what: what.to_owned(), what_to_do })
}

/// Nothing that is known.
pub(crate) fn no_format() -> Problem {
    Problem::NotATrace {
        what: "not a format holdup reads (Kineto JSON, Nsight Systems or nvprof SQLite or listing, .holdup)"
            .to_owned(),
        what_to_do: "turn an .nsys-rep into SQLite with `nsys export --type sqlite`",
    }
}
