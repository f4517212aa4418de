//! A table by its columns, each a way to get a row's value.

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use std::borrow::Cow;
use std::sync::Arc;
use trace::FileError;

/// A table to write.
pub(super) struct Table<'a> {
    pub name: &'static str,
    pub rows: usize,
    pub columns: Vec<(&'static str, Cells<'a>)>,
}

/// The values of a column, by row.
pub(super) enum Cells<'a> {
    Int(Box<dyn Fn(usize) -> Option<i64> + 'a>),
    Real(Box<dyn Fn(usize) -> Option<f64> + 'a>),
    Text(Box<dyn Fn(usize) -> Cow<'a, str> + 'a>),
}

impl<'a> Table<'a> {
    pub fn new(name: &'static str, rows: usize) -> Table<'a> {
        Table { name, rows, columns: Vec::new() }
    }

    /// Adds a column of whole numbers.
    pub fn int(mut self, name: &'static str, cell: impl Fn(usize) -> Option<i64> + 'a) -> Table<'a> {
        self.columns.push((name, Cells::Int(Box::new(cell))));
        self
    }

    /// Adds a column of other numbers.
    pub fn real(mut self, name: &'static str, cell: impl Fn(usize) -> Option<f64> + 'a) -> Table<'a> {
        self.columns.push((name, Cells::Real(Box::new(cell))));
        self
    }

    /// Adds a column of texts that the trace holds.
    pub fn text(mut self, name: &'static str, cell: impl Fn(usize) -> &'a str + 'a) -> Table<'a> {
        self.columns.push((name, Cells::Text(Box::new(move |row| Cow::Borrowed(cell(row))))));
        self
    }

    /// Adds a column of texts that are made.
    pub fn made(mut self, name: &'static str, cell: impl Fn(usize) -> String + 'a) -> Table<'a> {
        self.columns.push((name, Cells::Text(Box::new(move |row| Cow::Owned(cell(row))))));
        self
    }

    /// The table in memory, for Parquet.
    pub fn to_batch(&self) -> Result<RecordBatch, FileError> {
        let columns = self.columns.iter().map(|(name, cells)| (*name, self.array(cells), true));
        RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| FileError::Arrow(self.name, error))
    }

    fn array(&self, cells: &Cells<'_>) -> ArrayRef {
        match cells {
            Cells::Int(cell) => Arc::new((0..self.rows).map(cell).collect::<Int64Array>()),
            Cells::Real(cell) => Arc::new((0..self.rows).map(cell).collect::<Float64Array>()),
            Cells::Text(cell) => Arc::new((0..self.rows).map(|row| Some(cell(row))).collect::<StringArray>()),
        }
    }
}
