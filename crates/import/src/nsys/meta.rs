//! The file's description of itself.

use super::reader::Nsys;
use crate::Problem;
use crate::source;
use crate::sqlite::{Source, Value};
use std::collections::BTreeMap;

/// Tables that describe rather than record, and beginnings of their names.
const DESCRIPTIONS: [&str; 9] = [
    "StringIds",
    "ThreadNames",
    "PROCESSES",
    "ProcessStreams",
    "ANALYSIS_FILE",
    "ANALYSIS_DETAILS",
    "UnwindMethodType",
    "OSRT_FILE_ACCESS_DESCRIPTORS",
    "DIAGNOSTIC_EVENT",
];
const DESCRIBING: [&str; 6] =
    ["ENUM_", "META_DATA_", "EXPORT_META", "TARGET_INFO_", "NVTX_PAYLOAD_", "sqlite_"];

/// How many of the tracer's messages become notes.
const COMPLAINTS: usize = 8;

impl Nsys<'_> {
    pub(super) fn meta(&mut self) -> Result<(), Problem> {
        let source = self.rows.source;
        let meta = &mut self.rows.trace.meta;
        meta.set_source(source::NSYS);
        let mut export = pairs(source, "META_DATA_EXPORT")?;
        export.extend(pairs(source, "EXPORT_META_DATA")?);
        meta.source_version = export.remove("EXPORT_SCHEMA_VERSION").unwrap_or_default();
        let mut system = pairs(source, "TARGET_INFO_SYSTEM_ENV")?;
        meta.host = system.remove("Hostname").unwrap_or_default();
        meta.driver = system.remove("NvDriverVersion").unwrap_or_default();
        meta.command = command(&pairs(source, "META_DATA_CAPTURE")?);
        let epoch = |[epoch]: [Value; 1]| {
            let sane = epoch.int().filter(|epoch| (0..1 << 61).contains(epoch));
            meta.epoch_unix_ns = meta.epoch_unix_ns.or(sane);
            Ok(())
        };
        source.scan("TARGET_INFO_SESSION_START_TIME", ["utcEpochNs"], epoch)?.ignore();
        self.complaints()
    }

    /// Adds the tracer's errors, and its warnings about CUDA, as notes: they state what it missed.
    fn complaints(&mut self) -> Result<(), Problem> {
        const WARNING: i64 = 2;
        const ERROR: i64 = 3;
        let notes = &mut self.rows.trace.meta.notes;
        let read = |[severity, text]: [Value; 2]| {
            let (Some(severity), Some(text)) = (severity.int(), text.text()) else { return Ok(()) };
            let about_cuda = text.contains("CUDA") || text.contains("CUPTI");
            if severity == ERROR || severity == WARNING && about_cuda {
                let line = text.lines().next().unwrap_or_default();
                let note = format!("Nsight Systems reports: {line}");
                if notes.len() < COMPLAINTS && !notes.contains(&note) {
                    notes.push(note);
                }
            }
            Ok(())
        };
        self.rows.source.scan("DIAGNOSTIC_EVENT", ["severity", "text"], read)?.ignore();
        Ok(())
    }
}

/// Whether a table describes rather than records.
pub(super) fn describes(table: &str) -> bool {
    DESCRIPTIONS.contains(&table) || DESCRIBING.iter().any(|start| table.starts_with(start))
}

/// A table of names and values; the first value of a name counts.
fn pairs(source: &Source, table: &str) -> Result<BTreeMap<String, String>, Problem> {
    let mut pairs = BTreeMap::new();
    let read = |[name, value]: [Value; 2]| {
        if let (Some(name), Some(value)) = (name.text(), value.text()) {
            // The environment may hold secrets, which do not belong into a trace.
            if !name.ends_with("ENVIRONMENT_VARIABLE") {
                pairs.entry(name.into_owned()).or_insert_with(|| value.into_owned());
            }
        }
        Ok(())
    };
    source.scan(table, ["name", "value"], read)?.ignore();
    Ok(pairs)
}

/// The traced command line, from entries such as `PROCESS_0:ARGUMENT_3`.
fn command(capture: &BTreeMap<String, String>) -> String {
    let Some((key, program)) = capture.iter().find(|(key, _)| key.ends_with("COMMAND")) else {
        return String::new();
    };
    let process = key.trim_end_matches("COMMAND");
    let mut words = vec![quoted(program)];
    let argument = |at: usize| capture.get(&format!("{process}ARGUMENT_{at}"));
    words.extend((0..).map_while(argument).map(|word| quoted(word)));
    words.join(" ")
}

/// A word as typed in a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
