//! nvprof's SQLite database (`nvprof -o FILE`), also written by the Visual Profiler.
//!
//! Its tables are CUPTI's activity records, one column per field. API functions have only their callback id ([`cbid`]);
//! all other names are numbers of texts in `StringTable`. GPU records name no process: nvprof writes one file per
//! process.

mod calls;
mod cbid;
mod host;
mod ops;
#[cfg(test)]
mod tests;
mod times;

use crate::importer::{self, Fit, Form, Importer, Input, Seen};
use crate::sqlite::{self, Builder, Source, Value};
use crate::{Problem, source};
use trace::Trace;

pub(crate) static IMPORTER: Importer = Importer { forms: FORMS, sniff, read };

const FORMS: &[Form] = &[Form { name: "nvprof, as SQLite", made_by: "`nvprof -o trace.nvvp …`" }];

/// Recognizes the format by the tables that exist: any may be missing.
fn sniff(seen: &Seen<'_>) -> Fit {
    let Seen::Database(tables) = seen else { return Fit::No };
    let strings = tables.has_column("StringTable", "value");
    (tables.any_cupti_has("cbid") || strings && tables.any_cupti_has("_id_")).into()
}

fn read(input: Input<'_>, progress: &mut dyn FnMut(importer::Progress)) -> Result<Trace, Problem> {
    sqlite::import(input, progress, import)
}

/// Tables that are read row by row.
const EVENTS: [&str; 10] = [
    calls::RUNTIME,
    calls::DRIVER,
    ops::MEMCPY,
    ops::MEMCPY2,
    ops::MEMSET,
    ops::KERNELS[0],
    ops::KERNELS[1],
    ops::SYNCHRONIZATION,
    host::OVERHEAD,
    host::MARKER,
];

/// Tables that describe rather than record.
const DESCRIPTIONS: [&str; 3] = ["StringTable", DEVICE, ops::CONTEXT];
const DEVICE: &str = "CUPTI_ACTIVITY_KIND_DEVICE";

/// Columns of a device's id and of [`Builder::devices`].
const DEVICE_COLUMNS: [&str; 8] = [
    "id",
    "id",
    "name",
    "numMultiprocessors",
    "numMemcpyEngines",
    "globalMemorySize",
    "computeCapabilityMajor",
    "computeCapabilityMinor",
];

/// Reads the trace.
pub(crate) fn import(
    db: &rusqlite::Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Trace, Problem> {
    let source = &Source::new(db)?;
    let mut rows = Builder::new(source, ("StringTable", "_id_"), &EVENTS, progress)?;
    meta(&mut rows)?;
    calls::read(&mut rows)?;
    ops::read(&mut rows)?;
    host::read(&mut rows)?;
    rows.devices(DEVICE, DEVICE_COLUMNS, |id, _| id)?;
    rows.finish(&EVENTS, |table| {
        DESCRIPTIONS.contains(&table) || is_version(table) || table.starts_with("sqlite_")
    })
}

fn is_version(table: &str) -> bool {
    table.eq_ignore_ascii_case("version")
}

fn meta(rows: &mut Builder<'_>) -> Result<(), Problem> {
    let meta = &mut rows.trace.meta;
    meta.set_source(source::NVPROF);
    meta.epoch_unix_ns = Some(0);
    let Some(table) = rows.source.tables().find(|name| is_version(name)) else { return Ok(()) };
    let Some(column) = rows.source.columns(table).find(|name| *name != "_id_") else { return Ok(()) };
    let read = |[version]: [Value; 1]| {
        meta.source_version = match (version.int(), version.text()) {
            (Some(number), _) => number.to_string(),
            (None, text) => text.unwrap_or_default().into_owned(),
        };
        Ok(())
    };
    rows.source.scan(table, [column], read)?.ignore();
    Ok(())
}
