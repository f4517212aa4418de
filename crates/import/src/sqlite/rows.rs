//! Reads rows of tables that may lack any column or be missing.

use crate::Problem;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use trace::{Lost, Ns};

/// A database and its schema.
pub(crate) struct Source<'db> {
    pub(crate) db: &'db Connection,
    tables: BTreeMap<String, Vec<Column>>,
}

struct Column {
    name: String,
    primary_key: bool,
}

impl<'db> Source<'db> {
    /// Reads the schema.
    pub(crate) fn new(db: &'db Connection) -> Result<Source<'db>, Problem> {
        let mut names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
        let mut rows = names.query([])?;
        let mut tables = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let Some(name) = Value(row.get_ref(0)?).text() else { continue };
            tables.insert(name.clone().into_owned(), columns(db, &name)?);
        }
        Ok(Source { db, tables })
    }

    /// The names of all tables, in alphabetical order.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Whether the table exists.
    pub(crate) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Whether the table exists and has the column.
    pub(crate) fn has_column(&self, table: &str, column: &str) -> bool {
        self.column(table, column).is_some()
    }

    /// Whether any of CUPTI's tables has the column.
    pub(crate) fn any_cupti_has(&self, column: &str) -> bool {
        let mut cupti = self.tables().filter(|name| name.starts_with("CUPTI_ACTIVITY_KIND_"));
        cupti.any(|name| self.has_column(name, column))
    }

    /// Whether the column is the table's whole primary key, so that finding a value is cheap.
    pub(crate) fn is_key(&self, table: &str, column: &str) -> bool {
        self.column(table, column).is_some_and(|column| column.primary_key)
    }

    /// The names of a table's columns.
    pub(crate) fn columns(&self, table: &str) -> impl Iterator<Item = &str> {
        self.tables.get(table).into_iter().flatten().map(|column| column.name.as_str())
    }

    fn column(&self, table: &str, name: &str) -> Option<&Column> {
        self.tables.get(table)?.iter().find(|column| column.name == name)
    }

    /// Number of rows, exactly.
    pub(crate) fn count(&self, table: &str) -> Result<u64, Problem> {
        let sql = format!("SELECT count(*) FROM {}", quoted(table));
        let count: i64 = self.db.query_row(&sql, [], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// Number of rows, roughly and fast: tables written once number their rows from 1.
    pub(crate) fn estimate(&self, tables: &[&str]) -> u64 {
        let last_row = |table: &&str| {
            let sql = format!("SELECT max(rowid) FROM {}", quoted(table));
            self.db.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0)
        };
        let there = tables.iter().filter(|table| self.has(table));
        there.map(|table| u64::try_from(last_row(table)).unwrap_or(0)).fold(0, u64::saturating_add)
    }

    /// Calls `each` with the chosen columns of every row (`rowid` for its number), null for columns that the table
    /// lacks, and returns the faults of single rows. A missing table has no rows.
    pub(crate) fn scan<const N: usize>(
        &self,
        table: &str,
        columns: [&str; N],
        mut each: impl FnMut([Value<'_>; N]) -> Result<(), Fault>,
    ) -> Result<Faults, Problem> {
        self.scan_both(table, columns, [], |values, []| each(values))
    }

    /// Like [`Source::scan`], but for columns in two groups.
    pub(crate) fn scan_both<const M: usize, const N: usize>(
        &self,
        table: &str,
        first: [&str; M],
        second: [&str; N],
        mut each: impl FnMut([Value<'_>; M], [Value<'_>; N]) -> Result<(), Fault>,
    ) -> Result<Faults, Problem> {
        let mut faults = Faults { table: table.to_owned(), counts: FxHashMap::default() };
        if !self.has(table) {
            return Ok(faults);
        }
        let selected = first.iter().chain(&second).map(|column| {
            match self.has_column(table, column) || *column == "rowid" {
                true => quoted(column),
                false => "NULL".to_owned(),
            }
        });
        let selected: Vec<String> = selected.collect();
        let sql = format!("SELECT {} FROM {}", selected.join(", "), quoted(table));
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (mut left, mut right) = ([Value(ValueRef::Null); M], [Value(ValueRef::Null); N]);
            for (at, value) in left.iter_mut().chain(&mut right).enumerate() {
                *value = Value(row.get_ref(at)?);
            }
            match each(left, right) {
                Ok(()) => {}
                Err(Fault::Row(reason)) => *faults.counts.entry(reason).or_default() += 1,
                Err(Fault::Sqlite(error)) => return Err(error.into()),
            }
        }
        Ok(faults)
    }
}

fn columns(db: &Connection, table: &str) -> Result<Vec<Column>, Problem> {
    let mut statement = db.prepare(&format!("PRAGMA table_info({})", quoted(table)))?;
    let mut rows = statement.query([])?;
    let mut columns = Vec::new();
    while let Some(row) = rows.next()? {
        let name = Value(row.get_ref(1)?).text().unwrap_or_default().into_owned();
        columns.push(Column { name, primary_key: Value(row.get_ref(5)?).int() == Some(1) });
    }
    Ok(columns)
}

/// A name as a SQL identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Why one row cannot be used.
pub(crate) enum Fault {
    /// The row is wrong; others may be right.
    Row(&'static str),
    /// The database is damaged.
    Sqlite(rusqlite::Error),
}

impl From<&'static str> for Fault {
    fn from(reason: &'static str) -> Fault {
        Fault::Row(reason)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sqlite(error)
    }
}

/// The rows of one table that could not be used.
#[must_use = "rows that were dropped must be counted"]
pub(crate) struct Faults {
    table: String,
    counts: FxHashMap<&'static str, u64>,
}

impl Faults {
    /// Counts the rows as lost.
    pub(crate) fn count(self, lost: &mut Lost) {
        for (reason, count) in self.counts {
            lost.records(&format!("{}: {reason}", self.table), count);
        }
    }

    /// Does not count the rows: for tables that only describe, where an unreadable row loses no event.
    pub(crate) fn ignore(self) {}
}

/// One value of a row.
#[derive(Clone, Copy)]
pub(crate) struct Value<'row>(pub(crate) ValueRef<'row>);

impl<'row> Value<'row> {
    /// The integer; `None` for null and every other type.
    pub(crate) fn int(self) -> Option<i64> {
        match self.0 {
            ValueRef::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// A count or size; 0 when it is missing, negative or does not fit.
    pub(crate) fn size(self) -> u32 {
        self.int().and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
    }

    /// The text, with invalid UTF-8 replaced; `None` for null and every other type.
    pub(crate) fn text(self) -> Option<Cow<'row, str>> {
        match self.0 {
            ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes)),
            _ => None,
        }
    }

    /// The bytes of a blob.
    pub(crate) fn blob(self) -> Option<&'row [u8]> {
        match self.0 {
            ValueRef::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Whether there is no value.
    pub(crate) fn is_null(self) -> bool {
        matches!(self.0, ValueRef::Null)
    }
}

/// The start and end of a row, ns.
///
/// # Errors
/// If a time is missing or not `within` the range for later arithmetic, or the row ends before it starts.
pub(crate) fn interval(start: Value, end: Value, within: &Range<Ns>) -> Result<(Ns, Ns), Fault> {
    let start = start.int().ok_or("no start time")?;
    let end = end.int().ok_or("no end time")?;
    if !within.contains(&start) || !within.contains(&end) {
        return Err("time out of range".into());
    }
    if end < start {
        return Err("ends before it starts".into());
    }
    Ok((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_columns_and_tables_read_as_null_and_no_rows() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE t(\"a\"\"b\", \"end\"); INSERT INTO t VALUES (1, 2), ('x', NULL);")
            .unwrap();
        let source = Source::new(&db).unwrap();
        let mut seen = Vec::new();
        let faults = source.scan("t", ["a\"b", "end", "lacking"], |[a, end, lacking]| {
            assert!(lacking.is_null());
            seen.push((a.int().ok_or("no a")?, end.int()));
            Ok(())
        });
        let mut lost = Lost::default();
        faults.unwrap().count(&mut lost);
        assert_eq!(seen, [(1, Some(2))]);
        assert_eq!(lost.reasons.get("t: no a"), Some(&1));
        let mut none = |_: [Value; 1]| panic!("a missing table has no rows");
        source.scan("u", ["a"], &mut none).unwrap().ignore();
        assert_eq!(source.estimate(&["t", "u"]), 2);
    }
}
