//! Exports as tables: one file per table, in a directory.

mod column;
mod csv;
mod found;
mod resolved;

use crate::{Export, Meter, Progress};
use column::Table;
use std::fs;
use std::io;
use std::path::Path;
use trace::FileError;

/// Names of the tables: those of a `.holdup` file, findings and losses.
const TABLES: [&str; 19] = [
    "processes",
    "threads",
    "devices",
    "contexts",
    "streams",
    "frames",
    "stacks",
    "ranges",
    "calls",
    "ops",
    "syncs",
    "waits",
    "arguments",
    "states",
    "limits",
    "samples",
    "tallies",
    "findings",
    "losses",
];

/// Writes the parts of a `.holdup` file into a directory, and also `findings.parquet` and `losses.parquet`. Columns that
/// refer to another table hold its row number, from 0, as in a `.holdup` file.
///
/// # Errors
/// Errors of the file system or the Parquet writer.
pub fn parquet(
    export: &Export<'_>,
    directory: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), FileError> {
    let mut meter = Meter::new(TABLES.len() + 1, progress);
    trace::write_parts(export.trace, |name, bytes| {
        meter.file();
        Ok(fs::write(directory.join(name), bytes)?)
    })?;
    for table in [found::findings(export), found::losses(export, found::Refer::ByRow)] {
        fs::write(directory.join(format!("{}.parquet", table.name)), table.to_parquet()?)?;
        meter.file();
    }
    Ok(())
}

/// Writes the tables of [`parquet`], with names instead of row numbers, as [`csv()`] does; texts are exact.
///
/// # Errors
/// Errors of the file system or the Parquet writer.
pub fn named_parquet(
    export: &Export<'_>,
    directory: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), FileError> {
    let names = crate::view::Names::new(export.trace);
    let tables = named_tables(export, &names, directory)?;
    let mut meter = Meter::new(tables.len(), progress);
    for table in tables {
        fs::write(directory.join(format!("{}.parquet", table.name)), table.to_parquet()?)?;
        meter.file();
    }
    Ok(())
}

/// All tables with names instead of row numbers, and `meta.json` in the directory.
fn named_tables<'a>(
    export: &Export<'a>,
    names: &'a crate::view::Names<'a>,
    directory: &Path,
) -> Result<Vec<Table<'a>>, FileError> {
    fs::write(directory.join("meta.json"), serde_json::to_vec_pretty(&export.trace.meta)?)?;
    let mut tables = resolved::tables(export.trace, names);
    tables.extend([found::findings(export), found::losses(export, found::Refer::ByName)]);
    Ok(tables)
}

/// Writes the tables of [`parquet`] as CSV, with names instead of row numbers (a thread's id and name, a call's name).
///
/// A text that a spreadsheet would run as a formula gets an apostrophe before it; see `csv.rs`.
///
/// # Errors
/// Errors of the file system.
pub fn csv(
    export: &Export<'_>,
    directory: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), FileError> {
    let names = crate::view::Names::new(export.trace);
    let tables = named_tables(export, &names, directory)?;
    let mut meter = Meter::new(tables.iter().map(|table| table.rows).sum(), progress);
    for table in tables {
        csv::write(&table, &directory.join(format!("{}.csv", table.name)), &mut meter)?;
    }
    Ok(())
}

/// Whether a directory holds only files that [`parquet()`] or [`csv()`] writes, `meta.json` among them: it may be replaced.
///
/// # Errors
/// Errors of the file system.
pub fn is_export(directory: &Path) -> io::Result<bool> {
    let mut has_meta = false;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_table = || {
            let name = name.to_str().unwrap_or_default();
            let table = name.strip_suffix(".parquet").or_else(|| name.strip_suffix(".csv"));
            table.is_some_and(|table| TABLES.contains(&table))
        };
        if !entry.file_type()?.is_file() || !(name == "meta.json" || is_table()) {
            return Ok(false);
        }
        has_meta |= name == "meta.json";
    }
    Ok(has_meta)
}
