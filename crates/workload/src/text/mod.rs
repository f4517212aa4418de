//! The text form of a Workload: TOML, with names for rows. `docs/workload.md` documents it.

mod lines;
mod processes;
mod read;
mod scope;
mod steps;
mod words;
mod write;

use toml::de::DeTable;

use crate::check;
use crate::error::Error;
use crate::model::*;
use lines::Lines;
use read::{Fail, Read, Table};
use scope::Names;
use words::{AFFINITIES, LOADINGS, SCHEDULES, named};

impl Workload {
    /// Reads a Workload from its text form, and checks it. `file` is the name of the text in errors.
    ///
    /// # Errors
    ///
    /// The first problem: one line with file, line, and what to do.
    pub fn from_toml(text: &[u8], file: &str) -> Result<Workload, Error> {
        let line = |at: usize| 1 + text[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
        let (workload, lines) =
            read(text).map_err(|Fail { at, what }| Error::text(file, line(at), one_line(&what)))?;
        match check::check(&workload) {
            Ok(()) => Ok(workload),
            Err(problem) => Err(Error::checked(file, line(lines.at(&problem.place)), &workload, problem)),
        }
    }

    /// Writes a Workload in its text form. [`Workload::from_toml`] reads the same Workload, if [`Workload::check`] accepts it.
    ///
    /// # Panics
    ///
    /// If a reference is to a missing row, which [`Workload::check`] refuses.
    pub fn to_toml(&self) -> String {
        write::workload(self)
    }
}

/// An error of the parser in one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a Workload and where its rows begin, unchecked.
fn read(text: &[u8]) -> Read<(Workload, Lines)> {
    let text = str::from_utf8(text).map_err(|error| Fail {
        at: error.valid_up_to(),
        what: "this is not UTF-8 text: save it as such".to_owned(),
    })?;
    let rows = DeTable::parse(text).map_err(|error| Fail {
        at: error.span().map_or(0, |span| span.start),
        what: format!("this is not TOML: {}", error.message()),
    })?;
    workload(Table::new(rows.get_ref(), 0, &KEYS)?)
}

const KEYS: [&str; 8] =
    ["name", "mps", "connections", "schedule", "affinity", "module-loading", "barriers", "process"];

fn workload(table: Table<'_>) -> Read<(Workload, Lines)> {
    let mut workload = Workload::new(table.need("name")?.text()?);
    let mut lines = Lines::default();
    workload.mps = table.get("mps").map_or(Ok(false), |field| field.yes())?;
    if let Some(field) = table.get("connections") {
        workload.connections = Some(field.number()?);
        lines.connections = field.at;
    }
    workload.schedule = named(&table, "schedule", &SCHEDULES)?.unwrap_or_default();
    workload.affinity = named(&table, "affinity", &AFFINITIES)?.unwrap_or_default();
    workload.loading = named(&table, "module-loading", &LOADINGS)?;
    let mut barriers = Names::default();
    for field in table.get("barriers").map_or(Ok(vec![]), |field| field.array())? {
        let barrier = workload.barrier(field.text()?, 0);
        barriers.set(field.text()?, barrier.0);
        lines.barriers.push(field.at);
    }
    processes::read(table, &barriers, &mut workload, &mut lines)?;
    for (barrier, parties) in check::parties(&workload).into_iter().enumerate() {
        workload.barriers[barrier].parties = parties;
    }
    Ok((workload, lines))
}

#[cfg(test)]
mod tests;
