//! A trace in a database: which tool wrote it, and what went wrong with it in a line.

use crate::sqlite::{Source, open, unread_log};
use crate::{Problem, nsys, nvprof};
use std::path::Path;
use trace::Trace;

/// Reads an Nsight Systems or nvprof database, calling `progress` with rows done and rows in all.
pub(crate) fn import(path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Trace, Problem> {
    read(path, progress).map_err(printable)
}

fn read(path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Trace, Problem> {
    let db = open(path)?;
    let mut trace = match Tool::of(&Source::new(&db)?) {
        Some(Tool::Nsys) => nsys::import(&db, progress)?,
        Some(Tool::Nvprof) => nvprof::import(&db, progress)?,
        None => {
            return Err(Problem::NotATrace {
                what: "a SQLite database without CUDA tables".to_owned(),
                what_to_do: "record with `nsys profile --trace=cuda` and export it with `nsys export --type sqlite`",
            });
        }
    };
    trace.meta.notes.extend(unread_log(path));
    Ok(trace)
}

/// SQLite quotes what it stumbles over; a damaged file must not reach the terminal that way.
fn printable(problem: Problem) -> Problem {
    let clean = |message: String| {
        let line = message.lines().next().unwrap_or_default();
        line.chars().filter(|c| !c.is_control()).collect::<String>()
    };
    use rusqlite::Error::{SqlInputError, SqliteFailure};
    match problem {
        Problem::Sqlite(SqliteFailure(error, Some(message))) => {
            SqliteFailure(error, Some(clean(message))).into()
        }
        Problem::Sqlite(SqlInputError { error, msg, .. }) => SqliteFailure(error, Some(clean(msg))).into(),
        other => other,
    }
}

/// A tool that writes its traces as SQLite.
#[derive(Debug, PartialEq, Eq)]
enum Tool {
    Nsys,
    Nvprof,
}

impl Tool {
    /// Who wrote the database. Any table may be missing, so this goes by whichever is there.
    fn of(source: &Source) -> Option<Tool> {
        let cupti_table_with = |column| {
            let mut cupti = source.tables().filter(|name| name.starts_with("CUPTI_ACTIVITY_KIND_"));
            cupti.any(|name| source.has_column(name, column))
        };
        if source.has_column("StringIds", "value") || cupti_table_with("nameId") {
            Some(Tool::Nsys)
        } else if cupti_table_with("cbid")
            || source.has_column("StringTable", "value") && cupti_table_with("_id_")
        {
            Some(Tool::Nvprof)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(tables: &str) -> Option<Tool> {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        db.execute_batch(tables).unwrap();
        Tool::of(&Source::new(&db).unwrap())
    }

    #[test]
    fn the_tables_tell_who_wrote_them() {
        assert_eq!(tool("CREATE TABLE StringIds(id, value)"), Some(Tool::Nsys));
        assert_eq!(tool("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, nameId)"), Some(Tool::Nsys));
        assert_eq!(tool("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, cbid)"), Some(Tool::Nvprof));
        let copies = "CREATE TABLE StringTable(_id_, value); CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_)";
        assert_eq!(tool(copies), Some(Tool::Nvprof));
        assert_eq!(tool("CREATE TABLE StringTable(_id_, value)"), None);
        assert_eq!(tool("CREATE TABLE moz_places(id, url)"), None);
    }

    #[test]
    fn another_database_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("places.sqlite");
        rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE moz_places(id)").unwrap();
        let problem = import(&path, &mut |_, _| ()).err().unwrap();
        assert!(matches!(problem, Problem::NotATrace { .. }), "{problem}");
    }

    #[test]
    fn a_problem_is_one_printable_line() {
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        let message = Some("unrecognized token: \"\u{1b}[31m\nmore\"".to_owned());
        let problem = printable(rusqlite::Error::SqliteFailure(error, message).into());
        assert_eq!(problem.to_string(), "SQLite: unrecognized token: \"[31m; export the trace again");
    }

    /// Every way of damaging a file ends in a problem or a trace, never in a panic.
    #[test]
    fn cut_and_overwritten_files_never_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.sqlite");
        let mut db = rusqlite::Connection::open(&path).unwrap();
        let rows = db.transaction().unwrap();
        rows.execute_batch(
            "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020');
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, nameId, correlationId);",
        )
        .unwrap();
        let insert = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1, ?1 + 5, 16777217, 1, ?1)";
        (0..600).for_each(|at| _ = rows.execute(insert, [at * 10]).unwrap());
        rows.commit().unwrap();
        drop(db);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(import(&path, &mut |_, _| ()).unwrap().calls.len(), 600);
        for size in (0..whole.len()).step_by(511) {
            std::fs::write(&path, &whole[..size]).unwrap();
            assert!(import(&path, &mut |_, _| ()).is_err(), "cut at {size}");
        }
        for at in (0..whole.len()).step_by(127) {
            let mut damaged = whole.clone();
            damaged[at..whole.len().min(at + 16)].fill(0xff);
            std::fs::write(&path, &damaged).unwrap();
            _ = import(&path, &mut |_, _| ());
        }
    }
}
