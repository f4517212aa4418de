//! The `.holdup` file: a zip archive of uncompressed parts, which are `meta.json` and one Parquet file per table.
//! Unknown tables and columns are ignored, missing ones are empty.

use crate::check::check;
use crate::columns::{Columns, Group, most_rows};
use crate::error::ColumnError;
use crate::model::tables;
use crate::*;
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use std::io::{Cursor, Read, Seek, Write};
use std::panic::AssertUnwindSafe;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

/// Writes `trace` as a `.holdup` archive.
pub fn write(trace: &Trace, to: impl Write + Seek) -> Result<(), FileError> {
    let stored =
        SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    let mut archive = zip::ZipWriter::new(to);
    write_parts(trace, |name, bytes| {
        archive.start_file(name, stored)?;
        Ok(archive.write_all(bytes)?)
    })?;
    archive.finish()?;
    Ok(())
}

/// Gives `part` the name and the bytes of each part of a `.holdup` archive: `meta.json`, then one Parquet file per
/// table, referred-to tables first. One part is in memory at a time.
///
/// # Errors
/// The first error of `part`, or of the Parquet writer.
pub fn write_parts(
    trace: &Trace,
    mut part: impl FnMut(&str, &[u8]) -> Result<(), FileError>,
) -> Result<(), FileError> {
    part("meta.json", &serde_json::to_vec_pretty(&trace.meta)?)?;
    macro_rules! write_tables {
        ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
            let (rows, columns) = (trace.$field.len(), trace.$field.values(&trace.strings));
            part(concat!(stringify!($field), ".parquet"), &to_parquet($columns::NAME, rows, &columns)?)?;
        )*};
    }
    tables!(write_tables);
    Ok(())
}

/// Reads a `.holdup` archive and checks that every reference in it holds.
pub fn read(bytes: impl AsRef<[u8]>) -> Result<Trace, FileError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes.as_ref()))?;
    let meta = part(&mut archive, "meta.json")?.ok_or(FileError::NoMeta)?;
    let meta: Meta = serde_json::from_slice(&meta)?;
    if meta.schema_version > SCHEMA_VERSION {
        return Err(FileError::TooNew(meta.schema_version));
    }
    let mut trace = Trace { meta, ..Trace::default() };
    macro_rules! read_tables {
        ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
            if let Some(part) = part(&mut archive, concat!(stringify!($field), ".parquet"))? {
                let Trace { $field, strings, .. } = &mut trace;
                groups($columns::NAME, part, &mut |rows| $field.append(rows, strings))?;
            }
        )*};
    }
    tables!(read_tables);
    check(&trace)?;
    Ok(trace)
}

/// Calls `each` with every group of rows of a Parquet file.
fn groups(
    table: &'static str,
    part: Vec<u8>,
    each: &mut dyn FnMut(&Group<'_>) -> Result<(), ColumnError>,
) -> Result<(), FileError> {
    let in_table = |e| FileError::Parquet(table, e);
    let bytes = part.len();
    let read = || {
        let columns = Columns::open(Bytes::from(part)).map_err(in_table)?;
        plausible(table, columns.rows(), bytes)?;
        within(columns.metadata(), bytes).map_err(in_table)?;
        columns.groups(each).map_err(|error| match error {
            ColumnError::Cell(problem) => FileError::Table(TableError { table, problem }),
            ColumnError::Parquet(error) => in_table(error),
        })
    };
    // The Parquet reader panics at maliciously crafted pages. (The archive's checksums catch accidental damage
    // earlier.) The error drops everything read so far.
    std::panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(FileError::Damaged(table)))
}

fn part<R: Read + Seek>(archive: &mut zip::ZipArchive<R>, name: &str) -> Result<Option<Vec<u8>>, FileError> {
    let mut file = match archive.by_name(name) {
        Ok(file) => file,
        Err(ZipError::FileNotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if file.compression() != zip::CompressionMethod::Stored {
        return Err(FileError::Compressed(name.to_owned()));
    }
    let size = file.size();
    // Parts are stored, so a part that claims more than its share of the archive is a bomb.
    if size > file.compressed_size() {
        return Err(FileError::Oversized(name.to_owned(), size));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Refuses a table that would grow out of all proportion to its file: with run-length encoding, a few bytes can mean
/// any number of equal rows. A real table is written with at least a byte for every sixteen rows (`encode.rs`).
fn plausible(table: &'static str, rows: Option<u64>, bytes: usize) -> Result<(), FileError> {
    match rows {
        Some(rows) if rows <= most_rows(bytes) => Ok(()),
        Some(rows) => Err(FileError::TooManyRows(table, rows, bytes)),
        None => Err(FileError::Damaged(table)),
    }
}

/// Refuses column chunks that lie outside the file: the Parquet reader would panic at some of them.
fn within(metadata: &ParquetMetaData, bytes: usize) -> Result<(), ParquetError> {
    for chunk in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let end = start.checked_add(chunk.compressed_size());
        let ordered = start >= 0 && chunk.compressed_size() >= 0 && chunk.data_page_offset() >= start;
        if !ordered || end.is_none_or(|end| end > bytes as i64) {
            let column = chunk.column_path().string();
            return Err(ParquetError::General(format!("column {column} lies outside the file")));
        }
    }
    Ok(())
}
