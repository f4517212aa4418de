//! nvprof's SQLite database (`nvprof -o FILE`), also written by the Visual Profiler.
//!
//! Its tables are CUPTI's activity records, one column per field. API functions have only their callback id ([`cbid`]);
//! all other names are numbers of texts in `StringTable`. GPU records name no process: nvprof writes one file per
//! process.

mod calls;
mod cbid;
mod host;
mod ops;
mod reader;
#[cfg(test)]
mod tests;

use crate::finish::finish;
use crate::identities::Identities;
use crate::importer::{self, Fit, Form, Importer, Input, Seen};
use crate::progress::Progress;
use crate::refusal::needs_a_file;
use crate::sqlite::{Filling, Names, Source, Value};
use crate::{Problem, source};
use reader::Nvprof;
use rustc_hash::FxHashMap;
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
    let Input::Database(db) = input else { return Err(needs_a_file()) };
    import(db, &mut |done, rows| progress(importer::Progress { done, total: Some(rows) }))
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

/// Tables that describe rather than record. Rows of all other tables are counted as skipped.
const DESCRIPTIONS: [&str; 3] = ["StringTable", "CUPTI_ACTIVITY_KIND_DEVICE", "CUPTI_ACTIVITY_KIND_CONTEXT"];

/// Reads the trace.
pub(crate) fn import(
    db: &rusqlite::Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Trace, Problem> {
    let source = &Source::new(db)?;
    let rows = Filling {
        source,
        names: Names::new(source, "StringTable", "_id_")?,
        progress: Progress::new(progress, source.estimate(&EVENTS)),
        ids: Identities::default(),
        trace: Trace::default(),
    };
    let mut reader = Nvprof { rows, device_of: FxHashMap::default() };
    reader.meta()?;
    reader.calls()?;
    reader.ops()?;
    reader.host()?;
    reader.devices()?;
    reader.left_out()?;
    let Filling { mut trace, progress, .. } = reader.rows;
    progress.finish();
    finish(&mut trace);
    Ok(trace)
}

impl Nvprof<'_> {
    fn meta(&mut self) -> Result<(), Problem> {
        let meta = &mut self.rows.trace.meta;
        meta.set_source(source::NVPROF);
        meta.epoch_unix_ns = Some(0);
        let Some(table) = self.rows.source.tables().find(|name| name.eq_ignore_ascii_case("version")) else {
            return Ok(());
        };
        let Some(column) = self.rows.source.columns(table).find(|name| *name != "_id_") else {
            return Ok(());
        };
        let read = |[version]: [Value; 1]| {
            meta.source_version = match (version.int(), version.text()) {
                (Some(number), _) => number.to_string(),
                (None, text) => text.unwrap_or_default().into_owned(),
            };
            Ok(())
        };
        self.rows.source.scan(table, [column], read)?.ignore();
        Ok(())
    }

    fn devices(&mut self) -> Result<(), Problem> {
        let Filling { source, names, ids, trace, .. } = &mut self.rows;
        let columns = [
            "id",
            "name",
            "numMultiprocessors",
            "numMemcpyEngines",
            "globalMemorySize",
            "computeCapabilityMajor",
            "computeCapabilityMinor",
        ];
        let read = |[id, name, processors, engines, memory, major, minor]: [Value; 7]| {
            let row = ids.device(trace, id.int().ok_or("no id")?).index();
            let devices = &mut trace.devices;
            devices.name[row] = names.sym_or_empty(&mut trace.strings, name)?;
            devices.multiprocessors[row] = processors.size();
            devices.copy_engines[row] = engines.size();
            devices.memory_bytes[row] = memory.int().unwrap_or(0);
            devices.compute_major[row] = major.size();
            devices.compute_minor[row] = minor.size();
            Ok(())
        };
        source.scan("CUPTI_ACTIVITY_KIND_DEVICE", columns, read)?.ignore();
        Ok(())
    }

    /// Counts the rows of every table that holdup has no table for.
    fn left_out(&mut self) -> Result<(), Problem> {
        for table in self.rows.source.tables() {
            let describes = DESCRIPTIONS.contains(&table)
                || table.eq_ignore_ascii_case("version")
                || table.starts_with("sqlite_");
            if !describes && !EVENTS.contains(&table) {
                self.rows.trace.meta.leave_out(table, self.rows.source.count(table)?);
            }
        }
        Ok(())
    }
}
