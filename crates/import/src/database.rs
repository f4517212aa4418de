//! A trace in a database: its tables show which tool wrote it.

use crate::importer::{Input, Progress, Seen};
use crate::sqlite::{Source, open, unread_log};
use crate::{Problem, detect};
use std::path::Path;
use trace::Trace;

/// Reads a database with the importer that recognizes its tables.
pub(crate) fn import(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    read(path, progress).map_err(printable)
}

fn read(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    let db = open(path)?;
    let importer = detect::importer(&Seen::Database(&Source::new(&db)?), || Problem::NotATrace {
        what: "a SQLite database without CUDA tables".to_owned(),
        what_to_do: "record with `nsys profile --trace=cuda` and export it with `nsys export --type sqlite`",
    })?;
    let mut trace = (importer.read)(Input::Database(&db), progress)?;
    trace.meta.notes.extend(unread_log(path));
    Ok(trace)
}

/// Removes control characters from SQLite's message: it quotes bytes of a damaged file, which must not reach the
/// terminal.
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

#[cfg(test)]
mod tests {
    use super::*;

    const NSYS: Option<&str> = Some("Nsight Systems, as SQLite");
    const NVPROF: Option<&str> = Some("nvprof, as SQLite");

    /// The form that the importer has a name for.
    fn tool(tables: &str) -> Option<&'static str> {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        db.execute_batch(tables).unwrap();
        let importer = detect::importer(&Seen::Database(&Source::new(&db).unwrap()), || Problem::Empty);
        importer.ok().map(|importer| importer.forms[0].name)
    }

    #[test]
    fn the_tables_show_which_tool_wrote_them() {
        assert_eq!(tool("CREATE TABLE StringIds(id, value)"), NSYS);
        assert_eq!(tool("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, nameId)"), NSYS);
        assert_eq!(tool("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, cbid)"), NVPROF);
        let copies = "CREATE TABLE StringTable(_id_, value); CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_)";
        assert_eq!(tool(copies), NVPROF);
        assert_eq!(tool("CREATE TABLE StringTable(_id_, value)"), None);
        assert_eq!(tool("CREATE TABLE moz_places(id, url)"), None);
    }

    #[test]
    fn another_database_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("places.sqlite");
        rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE moz_places(id)").unwrap();
        let problem = import(&path, &mut |_| ()).err().unwrap();
        assert!(matches!(problem, Problem::NotATrace { .. }), "{problem}");
    }

    #[test]
    fn a_problem_is_one_printable_line() {
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        let message = Some("unrecognized token: \"\u{1b}[31m\nmore\"".to_owned());
        let problem = printable(rusqlite::Error::SqliteFailure(error, message).into());
        assert_eq!(problem.to_string(), "SQLite: unrecognized token: \"[31m: export the trace again");
    }

    /// Any damage to a file gives a problem or a trace, never a panic.
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
        assert_eq!(import(&path, &mut |_| ()).unwrap().calls.len(), 600);
        for size in (0..whole.len()).step_by(511) {
            std::fs::write(&path, &whole[..size]).unwrap();
            assert!(import(&path, &mut |_| ()).is_err(), "cut at {size}");
        }
        for at in (0..whole.len()).step_by(127) {
            let mut damaged = whole.clone();
            damaged[at..whole.len().min(at + 16)].fill(0xff);
            std::fs::write(&path, &damaged).unwrap();
            _ = import(&path, &mut |_| ());
        }
    }
}
