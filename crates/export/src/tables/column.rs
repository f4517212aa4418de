//! A table to write, as columns that return a row's value.

use std::borrow::Cow;
use trace::{FileError, Values};

/// A table to write.
pub(super) struct Table<'a> {
    pub name: &'static str,
    pub rows: usize,
    pub columns: Vec<(&'static str, Cells<'a>)>,
}

/// The values of a column, by row.
pub(super) enum Cells<'a> {
    Int(Box<dyn Fn(usize) -> Option<i64> + Sync + 'a>),
    Real(Box<dyn Fn(usize) -> Option<f64> + Sync + 'a>),
    Text(Box<dyn Fn(usize) -> Cow<'a, str> + Sync + 'a>),
}

impl<'a> Table<'a> {
    pub fn new(name: &'static str, rows: usize) -> Table<'a> {
        Table { name, rows, columns: Vec::new() }
    }

    /// Adds a column of whole numbers.
    pub fn int(mut self, name: &'static str, cell: impl Fn(usize) -> Option<i64> + Sync + 'a) -> Table<'a> {
        self.columns.push((name, Cells::Int(Box::new(cell))));
        self
    }

    /// Adds a column of other numbers.
    pub fn real(mut self, name: &'static str, cell: impl Fn(usize) -> Option<f64> + Sync + 'a) -> Table<'a> {
        self.columns.push((name, Cells::Real(Box::new(cell))));
        self
    }

    /// Adds a column of texts that the trace holds.
    pub fn text(mut self, name: &'static str, cell: impl Fn(usize) -> &'a str + Sync + 'a) -> Table<'a> {
        self.columns.push((name, Cells::Text(Box::new(move |row| Cow::Borrowed(cell(row))))));
        self
    }

    /// Adds a column of texts that are created for each row.
    pub fn made(mut self, name: &'static str, cell: impl Fn(usize) -> String + Sync + 'a) -> Table<'a> {
        self.columns.push((name, Cells::Text(Box::new(move |row| Cow::Owned(cell(row))))));
        self
    }

    /// The table as a Parquet file.
    pub fn to_parquet(&self) -> Result<Vec<u8>, FileError> {
        let columns: Vec<_> = self.columns.iter().map(|(name, cells)| (*name, cells.values())).collect();
        trace::to_parquet(self.name, self.rows, &columns)
    }
}

impl Cells<'_> {
    fn values(&self) -> Values<'_> {
        match self {
            Cells::Int(cell) => Values::int64(cell),
            Cells::Real(cell) => Values::double(cell),
            Cells::Text(cell) => Values::text(|row| Some(cell(row))),
        }
    }
}
