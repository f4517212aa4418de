//! Any bytes as one table of a `.holdup` archive that is otherwise in order: the archive's
//! checksums would keep a mutated table from ever being read. The first byte selects it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Write};

/// An archive of an empty `meta.json` and this table.
fn archive(table: &str, bytes: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file("meta.json", stored)?;
    archive.write_all(b"{}")?;
    archive.start_file(format!("{table}.parquet"), stored)?;
    archive.write_all(bytes)?;
    Ok(archive.finish()?.into_inner())
}

fuzz_target!(init: fuzz::let_panics_unwind(), |bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let table = trace::TABLES[usize::from(*which) % trace::TABLES.len()];
    if let Ok(trace) = trace::read(archive(table, bytes).expect("an archive in memory")) {
        fuzz::understand(&trace);
    }
});
