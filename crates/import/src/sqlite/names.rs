//! Texts that rows refer to by number.

use super::rows::quoted;
use super::{Fault, Source, Value};
use crate::Problem;
use rusqlite::{OptionalExtension, Statement};
use rustc_hash::FxHashMap;
use trace::{Strings, Sym};

/// A table of numbered strings, read one string at a time: such tables also hold strings that a trace does not need, up
/// to the program's whole standard output.
pub(crate) struct Names<'db> {
    /// Finds a value by row number; `None` if there is no such table.
    lookup: Option<Statement<'db>>,
    /// Row numbers by id, for tables where the id is not the row number.
    row_of: Option<FxHashMap<i64, i64>>,
    known: FxHashMap<i64, Option<Sym>>,
}

impl<'db> Names<'db> {
    /// The strings of `table`, numbered by its column `id`, in its column `value`.
    pub(crate) fn new(source: &Source<'db>, table: &str, id: &str) -> Result<Names<'db>, Problem> {
        let mut names = Names { lookup: None, row_of: None, known: FxHashMap::default() };
        if !source.has_column(table, id) || !source.has_column(table, "value") {
            return Ok(names);
        }
        if !source.is_key(table, id) {
            let mut row_of = FxHashMap::default();
            let ids = |[id, row]: [Value; 2]| {
                row_of.extend(id.int().zip(row.int()));
                Ok(())
            };
            source.scan(table, [id, "rowid"], ids)?.ignore();
            names.row_of = Some(row_of);
        }
        let key = if names.row_of.is_some() { "rowid".to_owned() } else { quoted(id) };
        let sql = format!("SELECT value FROM {} WHERE {key} = ?1", quoted(table));
        names.lookup = Some(source.db.prepare(&sql)?);
        Ok(names)
    }

    /// The text with that number, or the text itself if the row contains it.
    pub(crate) fn sym(&mut self, strings: &mut Strings, id: Value) -> Result<Sym, Fault> {
        if let Some(text) = id.text() {
            return Ok(strings.intern(&text));
        }
        let id = id.int().ok_or("no name")?;
        let known = match self.known.get(&id) {
            Some(&known) => known,
            None => {
                let found = self.find(strings, id)?;
                self.known.insert(id, found);
                found
            }
        };
        known.ok_or(Fault::Row("unknown string id"))
    }

    /// Like [`Names::sym`], but with the empty string for a missing or unknown number.
    pub(crate) fn sym_or_empty(&mut self, strings: &mut Strings, id: Value) -> Result<Sym, Fault> {
        match self.sym(strings, id) {
            Err(Fault::Row(_)) => Ok(Sym::EMPTY),
            other => other,
        }
    }

    fn find(&mut self, strings: &mut Strings, id: i64) -> Result<Option<Sym>, Fault> {
        let row = match &self.row_of {
            None => Some(id),
            Some(row_of) => row_of.get(&id).copied(),
        };
        let (Some(lookup), Some(row)) = (&mut self.lookup, row) else { return Ok(None) };
        let text = |row: &rusqlite::Row| Ok(Value(row.get_ref(0)?).text().map(|text| strings.intern(&text)));
        Ok(lookup.query_row([row], text).optional()?.flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;
    use rusqlite::types::ValueRef;

    #[test]
    fn strings_are_found_with_and_without_a_key_and_in_place() {
        for columns in ["id INTEGER PRIMARY KEY, value", "value, id"] {
            let db = Connection::open_in_memory().unwrap();
            let rows = "INSERT INTO StringIds(id, value) VALUES (40, 'kernel'), (41, CAST(x'ff41' AS TEXT))";
            db.execute_batch(&format!("CREATE TABLE StringIds({columns}); {rows};")).unwrap();
            let source = Source::new(&db).unwrap();
            let mut names = Names::new(&source, "StringIds", "id").unwrap();
            let mut strings = Strings::default();
            let mut text =
                |value| names.sym(&mut strings, Value(value)).ok().map(|sym| strings.text(sym).to_owned());
            assert_eq!(text(ValueRef::Integer(40)).as_deref(), Some("kernel"), "{columns}");
            assert_eq!(text(ValueRef::Integer(41)).as_deref(), Some("\u{fffd}A"));
            assert_eq!(text(ValueRef::Text(b"in place")).as_deref(), Some("in place"));
            assert_eq!(text(ValueRef::Integer(1)), None);
            assert_eq!(text(ValueRef::Null), None);
        }
    }
}
