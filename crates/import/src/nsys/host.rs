//! Host time that the program marked (NVTX) or the tracer used.

use super::{Nsys, TIMES, thread};
use crate::sqlite::{Value, interval};
use crate::{Problem, overhead};
use trace::{Range, RangeKind, Sym, ThreadId};

pub(super) const NVTX: &str = "NVTX_EVENTS";
pub(super) const PROFILER: &str = "PROFILER_OVERHEAD";
pub(super) const CUPTI: &str = "CUPTI_ACTIVITY_KIND_OVERHEAD";

/// NVTX event types: ranges that nest on a thread, and ranges that need not.
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;

impl Nsys<'_> {
    pub(super) fn host(&mut self) -> Result<(), Problem> {
        self.nvtx()?;
        self.profiler_overhead()?;
        self.cupti_overhead()
    }

    fn nvtx(&mut self) -> Result<(), Problem> {
        let Nsys { source, names, progress, ids, trace, .. } = self;
        let typed = source.has_column(NVTX, "eventType");
        let mut others = 0;
        let read = |[start, end, kind, text, text_id, tid]: [Value; 6]| {
            progress.row();
            let is_range = matches!(kind.int(), Some(PUSH_POP | START_END)) || !typed && !end.is_null();
            if !is_range {
                others += 1;
                return Ok(());
            }
            let (start, end) = interval(start, end, &TIMES)?;
            let (pid, tid) = thread(tid)?;
            // A range may have a payload instead of a text; it is still a range.
            let name = match (text.is_null(), text_id.is_null()) {
                (false, _) => names.sym(&mut trace.strings, text)?,
                (true, false) => names.sym(&mut trace.strings, text_id)?,
                (true, true) => Sym::EMPTY,
            };
            let thread = ids.thread(trace, pid, tid);
            trace.ranges.push(Range { start, end, thread, kind: RangeKind::User, name, ..Range::default() });
            Ok(())
        };
        let columns = ["start", "end", "eventType", "text", "textId", "globalTid"];
        let faults = source.scan(NVTX, columns, read)?;
        faults.count(&mut trace.meta.lost);
        trace.meta.leave_out("NVTX marks, categories and domains", others);
        Ok(())
    }

    /// Reads the time that Nsight Systems itself used in the program: starting up, flushing.
    fn profiler_overhead(&mut self) -> Result<(), Problem> {
        let Nsys { source, names, progress, ids, trace, .. } = self;
        let read = |[start, end, tid, name]: [Value; 4]| {
            progress.row();
            let (start, end) = interval(start, end, &TIMES)?;
            let name = names.sym(&mut trace.strings, name)?;
            let name = overhead::nsys_text(trace.strings.text(name)).to_owned();
            let name = trace.strings.intern(&name);
            let thread = known_thread(tid).map_or(ThreadId::NONE, |(pid, tid)| ids.thread(trace, pid, tid));
            trace.ranges.push(Range {
                start,
                end,
                thread,
                kind: RangeKind::Overhead,
                name,
                ..Range::default()
            });
            Ok(())
        };
        let faults = source.scan(PROFILER, ["start", "end", "globalTid", "nameId"], read)?;
        faults.count(&mut trace.meta.lost);
        Ok(())
    }

    /// Reads the time that CUPTI and the driver report for themselves: buffers, compiling, loading.
    fn cupti_overhead(&mut self) -> Result<(), Problem> {
        let Nsys { source, progress, ids, trace, .. } = self;
        let read = |[start, end, tid, kind]: [Value; 4]| {
            progress.row();
            let (start, end) = interval(start, end, &TIMES)?;
            let name = trace.strings.intern(overhead::nsys(kind.int().unwrap_or(0)));
            let thread = known_thread(tid).map_or(ThreadId::NONE, |(pid, tid)| ids.thread(trace, pid, tid));
            trace.ranges.push(Range {
                start,
                end,
                thread,
                kind: RangeKind::Overhead,
                name,
                ..Range::default()
            });
            Ok(())
        };
        let faults = source.scan(CUPTI, ["start", "end", "globalTid", "overheadType"], read)?;
        faults.count(&mut trace.meta.lost);
        Ok(())
    }
}

/// The thread of an overhead; `None` for rows that name only the process.
fn known_thread(global: Value) -> Option<(i64, i64)> {
    thread(global).ok().filter(|&(_, tid)| tid != 0)
}
