//! Builder of a trace from a database: what the readers of all schemas share.

use super::{Fault, Names, Source, Value};
use crate::Problem;
use crate::finish::finish;
use crate::identities::Identities;
use crate::importer::{self, Input};
use crate::progress::Progress;
use crate::refusal::needs_a_file;
use trace::{Ns, Range, RangeKind, Sym, ThreadId, Trace};

/// The database on one side, the trace on the other.
pub(crate) struct Builder<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) names: Names<'a>,
    pub(crate) progress: Progress<'a>,
    pub(crate) ids: Identities,
    pub(crate) trace: Trace,
}

/// Reads a database and reports how far it is.
pub(crate) type Reader = fn(&rusqlite::Connection, &mut dyn FnMut(u64, u64)) -> Result<Trace, Problem>;

/// Reads an input that must be a database.
pub(crate) fn import(
    input: Input<'_>,
    progress: &mut dyn FnMut(importer::Progress),
    reader: Reader,
) -> Result<Trace, Problem> {
    let Input::Database(db) = input else { return Err(needs_a_file()) };
    reader(db, &mut |done, rows| progress(importer::Progress { done, total: Some(rows) }))
}

impl<'a> Builder<'a> {
    /// An empty trace: `strings` is the table of texts with its column of numbers, `events` are the tables that are read row
    /// by row.
    pub(crate) fn new(
        source: &'a Source<'a>,
        strings: (&str, &str),
        events: &[&str],
        progress: &'a mut dyn FnMut(u64, u64),
    ) -> Result<Builder<'a>, Problem> {
        Ok(Builder {
            source,
            names: Names::new(source, strings.0, strings.1)?,
            progress: Progress::new(progress, source.estimate(events)),
            ids: Identities::default(),
            trace: Trace::default(),
        })
    }

    /// The trace, once all rows are read. Rows of tables that neither are `events` nor describe are counted as skipped.
    pub(crate) fn finish(
        mut self,
        events: &[&str],
        describes: impl Fn(&str) -> bool,
    ) -> Result<Trace, Problem> {
        for table in self.source.tables().filter(|table| !describes(table) && !events.contains(table)) {
            self.trace.meta.leave_out(table, self.source.count(table)?);
        }
        self.progress.finish();
        finish(&mut self.trace);
        Ok(self.trace)
    }

    /// Calls `read` with the chosen columns of every row of a table, and counts rows that it rejects as lost.
    pub(crate) fn each<const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        mut read: impl FnMut(&mut Self, [Value<'_>; N]) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        self.each_both(table, columns, [], |builder, values, []| read(builder, values))
    }

    /// Like [`Builder::each`], but for columns in two groups.
    pub(crate) fn each_both<const M: usize, const N: usize>(
        &mut self,
        table: &str,
        first: [&str; M],
        second: [&str; N],
        mut read: impl FnMut(&mut Self, [Value<'_>; M], [Value<'_>; N]) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        let source = self.source;
        let faults = source.scan_both(table, first, second, |left, right| {
            self.progress.row();
            read(self, left, right)
        })?;
        faults.count(&mut self.trace.meta.lost);
        Ok(())
    }

    /// Names and sizes of the GPUs. The first two columns give a GPU's ordinal, the others are in the order of [`trace::Device`]'s
    /// name, multiprocessors, copy engines, memory and compute capability.
    pub(crate) fn devices(
        &mut self,
        table: &str,
        columns: [&str; 8],
        ordinal: impl Fn(Option<i64>, Option<i64>) -> Option<i64>,
    ) -> Result<(), Problem> {
        let Builder { source, names, ids, trace, .. } = self;
        let read = |[id, other, name, processors, engines, memory, major, minor]: [Value; 8]| {
            let ordinal = ordinal(id.int(), other.int()).ok_or("no id")?;
            let row = ids.device(trace, ordinal).index();
            let devices = &mut trace.devices;
            devices.name[row] = names.sym_or_empty(&mut trace.strings, name)?;
            devices.multiprocessors[row] = processors.size();
            devices.copy_engines[row] = engines.size();
            devices.memory_bytes[row] = memory.int().unwrap_or(0);
            devices.compute_major[row] = major.size();
            devices.compute_minor[row] = minor.size();
            Ok(())
        };
        source.scan(table, columns, read)?.ignore();
        Ok(())
    }

    /// A process's thread, or none.
    pub(crate) fn thread(&mut self, thread: Option<(i64, i64)>) -> ThreadId {
        thread.map_or(ThreadId::NONE, |(pid, tid)| self.ids.thread(&mut self.trace, pid, tid))
    }

    /// Host time that the tracer or the driver took for itself.
    pub(crate) fn overhead(&mut self, (start, end): (Ns, Ns), thread: Option<(i64, i64)>, name: Sym) {
        let thread = self.thread(thread);
        let kind = RangeKind::Overhead;
        self.trace.ranges.push(Range { start, end, thread, kind, name, ..Range::default() });
    }

    /// The process of records that name none, if there is only one.
    pub(crate) fn only_process(&self) -> Option<i64> {
        match self.trace.processes.pid[..] {
            [] => Some(0),
            [pid] => Some(pid),
            _ => None,
        }
    }
}

/// The result code of a CUDA call; 0 if it has none. A code that does not fit is a failure too.
pub(crate) fn result(value: Value) -> i32 {
    i32::try_from(value.int().unwrap_or(0)).unwrap_or(i32::MAX)
}
