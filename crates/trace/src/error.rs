//! Errors of cells, columns, tables and files.

use crate::SCHEMA_VERSION;
use parquet::errors::ParquetError;
use zip::result::ZipError;

/// Why a `.holdup` file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Not a readable zip archive.
    #[error("not a .holdup archive, or a part of one: copy or record it again ({0})")]
    Archive(#[from] ZipError),
    /// A part is compressed by the archive.
    #[error("part {0} is compressed, but .holdup archives store their parts: pack it again with zip -0")]
    Compressed(String),
    /// A part claims more bytes than the archive stores for it.
    #[error("part {0} claims {1} bytes, more than the archive holds")]
    Oversized(String, u64),
    /// A table claims more rows than its bytes can hold.
    #[error("table {0} claims {1} rows, more than its {2} bytes can hold: write the file again")]
    TooManyRows(&'static str, u64, usize),
    /// `meta.json` is missing.
    #[error("the archive has no meta.json, so it is not a .holdup file")]
    NoMeta,
    /// `meta.json` does not parse.
    #[error("meta.json: {0}")]
    Meta(#[from] serde_json::Error),
    /// Written by a later version.
    #[error("written with schema {0}, this holdup reads up to {SCHEMA_VERSION}: use a newer holdup")]
    TooNew(u32),
    /// A table is not readable Parquet.
    #[error("table {0}: {1}")]
    Parquet(&'static str, #[source] ParquetError),
    /// A table's Parquet pages or row counts are damaged.
    #[error("table {0}: damaged Parquet pages: write the file again")]
    Damaged(&'static str),
    /// A table does not fit the schema.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// A table in a file that does not fit its schema.
#[derive(Debug, thiserror::Error)]
#[error("table {table}: {problem}")]
pub struct TableError {
    /// The table.
    pub table: &'static str,
    /// Problem with the table.
    #[source]
    pub problem: CellError,
}

/// Why a column cannot be read.
#[derive(Debug)]
pub(crate) enum ColumnError {
    Cell(CellError),
    Parquet(ParquetError),
}

impl From<ParquetError> for ColumnError {
    fn from(error: ParquetError) -> Self {
        ColumnError::Parquet(error)
    }
}

/// A column in a file that does not fit the schema.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The column has another type.
    #[error("column {column} is {found}, expected {expected}")]
    Type {
        /// The column.
        column: &'static str,
        /// Its type in the file.
        found: String,
        /// The type of the schema.
        expected: &'static str,
    },
    /// A row number points past the end of the table it refers to.
    #[error("column {column}, row {row}: refers to row {target} of {table}, which has {rows} rows")]
    Dangling {
        /// The column.
        column: &'static str,
        /// Row within this table.
        row: usize,
        /// The number it holds.
        target: usize,
        /// The table referred to.
        table: &'static str,
        /// Rows that table has.
        rows: usize,
    },
    /// An interval ends before it starts.
    #[error("row {row}: ends at {end} ns, before its start at {start} ns")]
    Interval {
        /// Row within this table.
        row: usize,
        /// Start, ns.
        start: i64,
        /// End, ns.
        end: i64,
    },
    /// A time or a count is negative, or longer than the interval it belongs to.
    #[error("column {column}, row {row}: {value} is not between 0 and {most}")]
    Amount {
        /// The column.
        column: &'static str,
        /// Row within this table.
        row: usize,
        /// The value it holds.
        value: i64,
        /// The largest that fits.
        most: i64,
    },
    /// Two rows of a thread are not in order, or overlap.
    #[error("row {row}: starts at {start} ns, before the thread's last row ends at {end} ns")]
    Overlap {
        /// Row within this table.
        row: usize,
        /// Its start, ns.
        start: i64,
        /// The end of the thread's row before it, ns.
        end: i64,
    },
}
