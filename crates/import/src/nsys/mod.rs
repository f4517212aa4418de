//! Nsight Systems' SQLite export: schemas 2.9 to 3.25 and older files without a version.
//!
//! Tables exist only if they have rows, and columns differ between versions, so any table or column may be missing
//! ([`Source`]). The modules follow the contents: the host's calls, the GPU's operations, other host time, stacks, what
//! threads did, and the machine.

mod blocking;
mod calls;
mod events;
mod host;
mod kinds;
mod machine;
mod meta;
mod names;
mod ops;
mod python;
mod reader;
mod stacks;
#[cfg(test)]
mod tests;
mod threads;

use crate::Problem;
use crate::finish::finish;
use crate::identities::Identities;
use crate::importer::{self, Fit, Form, Importer, Input, Seen};
use crate::progress::Progress;
use crate::refusal::needs_a_file;
use crate::sqlite::{Filling, Names, Source};
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
    let Input::Database(db) = input else { return Err(needs_a_file()) };
    import(db, &mut |done, rows| progress(importer::Progress { done, total: Some(rows) }))
}

/// Reads the trace.
pub(crate) fn import(
    db: &rusqlite::Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Trace, Problem> {
    let source = &Source::new(db)?;
    let rows = Filling {
        source,
        names: Names::new(source, "StringIds", "id")?,
        progress: Progress::new(progress, source.estimate(&EVENTS)),
        ids: Identities::default(),
        trace: Trace::default(),
    };
    let mut reader = Nsys { rows, kinds: Kinds::read(source)?, machine: Machine::read(source)? };
    reader.meta()?;
    reader.calls()?;
    reader.ops()?;
    reader.host()?;
    reader.threads()?;
    reader.describe_machine()?;
    reader.left_out()?;
    let Filling { mut trace, progress, .. } = reader.rows;
    progress.finish();
    finish(&mut trace);
    Ok(trace)
}
