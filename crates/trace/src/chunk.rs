//! Column chunks: the cells that they are made of, their bytes, and their sizes.

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use std::ops::Range;

/// Rows that are converted to Parquet's values at a time.
pub(crate) const BATCH: usize = 1 << 16;

/// Rows of a page: few enough for a reader's memory, and so many that starting a compression costs little.
pub(crate) const PAGE: usize = 1 << 17;

/// Level of compression. Level 3, the default of zstd, makes the file of a recording 3 % smaller, and only to search for
/// matches took 9 % of the processor time of `holdup import SPOOL` (the spool of `benches/gather.sh 20000000`, `perf`).
pub(crate) const ZSTD: i32 = 1;

/// Appends the cells of some rows.
pub(crate) type Fill<'a, T> = Box<dyn Fn(Range<usize>, &mut Cells<T>) + Sync + 'a>;

/// The cells of some rows.
pub(crate) struct Cells<T> {
    /// The values of those that are not null.
    pub values: Vec<T>,
    /// Of each row, 1 for a value and 0 for null: Parquet's definition level.
    pub present: Vec<i16>,
}

impl<T> Cells<T> {
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.present.clear();
    }
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Cells { values: Vec::new(), present: Vec::new() }
    }
}

/// The bytes of a column chunk, and what the file's footer says of it.
pub(crate) type Encoded = (Bytes, ColumnCloseResult);

/// Compression of a page.
pub(crate) fn compression() -> Compression {
    Compression::ZSTD(ZstdLevel::try_new(ZSTD).unwrap_or_default())
}
