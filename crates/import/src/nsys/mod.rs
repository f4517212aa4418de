//! Nsight Systems' SQLite export: schemas 2.9 to 3.25 and older files without a version.
//!
//! Tables exist only if they have rows, and columns differ between versions, so any table or column may be missing
//! ([`Source`]). The modules follow the contents: the host's calls, the GPU's operations, other host time, stacks, what
//! threads did, and the machine.

mod blocking;
mod calls;
mod describe;
mod events;
mod files;
mod host;
mod kinds;
mod machine;
mod meta;
mod ops;
mod python;
mod reader;
mod stacks;
mod switches;
#[cfg(test)]
mod tests;
mod threads;
mod wakers;

use crate::Problem;
use crate::importer::{self, Fit, Form, Importer, Input, Seen};
use crate::sqlite::{self, Builder, Source};
use events::EVENTS;
use kinds::Kinds;
pub(crate) use kinds::api_of;
use machine::Machine;
use reader::Nsys;
use trace::Trace;

pub(crate) static IMPORTER: Importer = Importer { forms: FORMS, sniff, read };

const FORMS: &[Form] = &[Form {
    name: "Nsight Systems, as SQLite",
    made_by: "`nsys profile --trace=cuda,nvtx,osrt …`, then `nsys export --type sqlite report.nsys-rep`",
}];

/// Recognizes the format by the tables that exist: any may be missing.
fn sniff(seen: &Seen<'_>) -> Fit {
    let Seen::Database(tables) = seen else { return Fit::No };
    (tables.has_column("StringIds", "value") || tables.any_cupti_has("nameId")).into()
}

fn read(input: Input<'_>, progress: &mut dyn FnMut(importer::Progress)) -> Result<Trace, Problem> {
    sqlite::import(input, progress, import)
}

/// Reads the trace.
pub(crate) fn import(
    db: &rusqlite::Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Trace, Problem> {
    let source = &Source::new(db)?;
    let rows = Builder::new(source, ("StringIds", "id"), &EVENTS, progress)?;
    let mut reader = Nsys { rows, kinds: Kinds::read(source)?, machine: Machine::read(source)? };
    reader.meta()?;
    reader.calls()?;
    reader.ops()?;
    reader.host()?;
    reader.threads()?;
    reader.describe_machine()?;
    reader.rows.finish(&EVENTS, meta::describes)
}
