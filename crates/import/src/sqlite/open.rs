//! Opens a database strictly for reading.

use crate::Problem;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Opens a database without changing it, its folder, or anything beside it.
///
/// `immutable` keeps SQLite from creating or replaying a journal: traces on read-only media open, and the trace's
/// folder does not change.
pub(crate) fn open(path: &Path) -> Result<Connection, Problem> {
    check_length(path)?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(uri(path)?, flags)?;
    // The schema is untrusted: it must not call functions, and SQLite must detect a damaged page instead of following
    // it.
    db.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;",
    )?;
    Ok(db)
}

/// Refuses a truncated file.
///
/// SQLite itself detects missing pages, but reads the missing part of the last page as zeros.
fn check_length(path: &Path) -> Result<(), Problem> {
    let mut file = File::open(path)?;
    let mut header = [0; 100];
    if file.read_exact(&mut header).is_err() {
        return Err(cut(format!("{} bytes are not a database", file.metadata()?.len())));
    }
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 1 << 16,
        size => u64::from(size),
    };
    let length = file.metadata()?.len();
    // The page count is valid if it was written with the last change.
    let expected = match u64::from(number(28)) {
        pages if pages > 0 && number(24) == number(92) => pages * page,
        _ => length.next_multiple_of(page.max(1)),
    };
    match length < expected {
        true => Err(cut(format!("the file ends early, after {length} of {expected} bytes"))),
        false => Ok(()),
    }
}

fn cut(message: String) -> Problem {
    let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Problem::Sqlite(rusqlite::Error::SqliteFailure(corrupt, Some(message)))
}

/// The path as a SQLite URI; bytes with a meaning in a URI are percent-encoded.
fn uri(path: &Path) -> Result<String, Problem> {
    use std::fmt::Write;
    let path = std::path::absolute(path)?;
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(char::from(byte)),
            // Writing to a String cannot fail.
            _ => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri.push_str("?immutable=1&mode=ro");
    Ok(uri)
}

/// A note if a write-ahead log or journal is next to the database: it may hold rows, and SQLite cannot read it without
/// writing.
pub(crate) fn unread_log(path: &Path) -> Option<String> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(name).is_ok_and(|file| file.len() > 0)
    };
    let suffix = ["-wal", "-journal"].into_iter().find(|suffix| beside(suffix))?;
    Some(format!(
        "An unfinished {suffix} file is next to the trace; its rows were not read. Open the database once in the tool that wrote it to merge them."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_file_names_open_and_nothing_is_created_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("50% of a?trace#1 é&mode=rw.sqlite");
        let db = Connection::open(&path).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES (7);").unwrap();
        drop(db);
        let read = open(&path).unwrap();
        let seven: i64 = read.query_row("SELECT a FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(seven, 7);
        assert!(read.execute_batch("INSERT INTO t VALUES (8)").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(unread_log(&path), None);
    }

    #[test]
    fn a_log_beside_the_file_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.sqlite");
        std::fs::write(folder.path().join("trace.sqlite-wal"), "x").unwrap();
        assert!(unread_log(&path).unwrap().contains("-wal"));
    }

    #[test]
    fn a_file_that_is_not_a_database_is_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.sqlite");
        assert!(open(&path).is_err());
        std::fs::write(&path, "SQLite format 3\0 and then nonsense".repeat(100)).unwrap();
        let opened = open(&path).and_then(|db| super::super::Source::new(&db).map(|_| ()));
        assert!(opened.is_err());
    }
}
