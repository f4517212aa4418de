//! Nsight Systems' SQLite export: schemas 2.9 to 3.25 and older files without a version.
//!
//! Tables exist only if they have rows, and columns differ between versions, so any table or column may be missing
//! ([`Source`]). The modules follow the contents: the host's calls, the GPU's operations, other host time, stacks, what
//! threads did, and the machine.

mod blocking;
mod calls;
mod host;
mod kinds;
mod machine;
mod meta;
mod ops;
mod python;
mod stacks;
#[cfg(test)]
mod tests;
mod threads;

use crate::identities::Identities;
use crate::importer::{Fit, Form, Importer, Input, Seen};
use crate::progress::Progress;
use crate::sqlite::{Fault, Filling, Names, Source, Value};
use crate::{Problem, finish};
use kinds::Kinds;
pub(crate) use kinds::api_of;
use machine::Machine;
use std::ops::Range;
use trace::{Ns, Trace};

/// Exports of Nsight Systems.
pub(crate) const SOURCE: trace::Source = trace::Source { id: "nsys", title: "Nsight Systems" };

pub(crate) static IMPORTER: Importer = Importer { source: SOURCE, forms: FORMS, sniff, read };

const FORMS: &[Form] = &[Form {
    name: "Nsight Systems, as SQLite",
    made_by: "`nsys profile --trace=cuda,nvtx,osrt …`, then `nsys export --type sqlite report.nsys-rep`",
}];

/// Recognizes the format by the tables that exist: any may be missing.
fn sniff(seen: &Seen<'_>) -> Fit {
    let Seen::Database(tables) = seen else { return Fit::No };
    (tables.has_column("StringIds", "value") || tables.any_cupti_has("nameId")).into()
}

fn read(input: Input<'_>, progress: &mut dyn FnMut(crate::Progress)) -> Result<Trace, Problem> {
    let Input::Database(db) = input else { return Err(crate::needs_a_file()) };
    import(db, &mut |done, rows| progress(crate::Progress { done, total: Some(rows) }))
}

/// Times for which rebasing and subtraction cannot overflow, ns: 18 years on either side of the start.
const TIMES: Range<Ns> = -(1 << 59)..1 << 59;

/// Tables that are read row by row, in the order they are read.
const EVENTS: [&str; 17] = [
    stacks::CUDA,
    stacks::OS,
    calls::CUDA,
    calls::LIBRARIES[0],
    calls::LIBRARIES[1],
    calls::OS,
    ops::MEMCPY,
    ops::MEMSET,
    ops::KERNEL,
    ops::GRAPH,
    ops::SYNCHRONIZATION,
    host::NVTX,
    host::PROFILER,
    host::CUPTI,
    stacks::SAMPLES,
    threads::SAMPLES,
    threads::SCHEDULER,
];

/// The reader's state: the database on one side, the trace being built on the other.
struct Nsys<'a> {
    rows: Filling<'a>,
    kinds: Kinds,
    machine: Machine,
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

/// A thread's process and id, from the number into which Nsight Systems packs them.
fn thread(global: Value) -> Result<(i64, i64), Fault> {
    let global = global.int().ok_or("no thread")?;
    Ok((global >> 24 & 0xff_ffff, global & 0xff_ffff))
}

/// The process of a GPU record: the one it names, or else the only one.
fn process(global: Value, only: Option<i64>) -> Result<i64, Fault> {
    let named = global.int().map(|global| global >> 24 & 0xff_ffff);
    Ok(named.or(only).ok_or("names no process in a trace of several")?)
}
