//! Host time that the program marked (NVTX) or the tracer used.

use super::python::{Domain, Python};
use super::reader::{Nsys, TIMES, thread};
use crate::sqlite::{Builder, Value, interval};
use crate::{Problem, overhead};
use rustc_hash::FxHashMap;
use trace::{Range, RangeId, RangeKind, Ranges, Sym};

pub(super) const NVTX: &str = "NVTX_EVENTS";
pub(super) const PROFILER: &str = "PROFILER_OVERHEAD";
pub(super) const CUPTI: &str = "CUPTI_ACTIVITY_KIND_OVERHEAD";

/// NVTX event types: ranges that nest on a thread, and ranges that need not.
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;
/// A mark, and the naming of a domain.
const MARK: i64 = 34;
const DOMAIN: i64 = 75;

/// The domains of ranges, which may be named after them.
#[derive(Default)]
struct Domains {
    names: FxHashMap<Domain, Sym>,
    ranges: Vec<(RangeId, Domain)>,
}

impl Domains {
    fn finish(self, ranges: &mut Ranges) {
        for (range, domain) in &self.ranges {
            ranges.domain[*range] = self.names.get(domain).copied().unwrap_or_default();
        }
    }
}

impl Nsys<'_> {
    pub(super) fn host(&mut self) -> Result<(), Problem> {
        self.nvtx()?;
        self.profiler_overhead()?;
        self.cupti_overhead()
    }

    fn nvtx(&mut self) -> Result<(), Problem> {
        let typed = self.rows.source.has_column(NVTX, "eventType");
        let (mut others, mut python, mut domains) = (0, Python::default(), Domains::default());
        let columns = ["start", "end", "eventType", "text", "textId", "globalTid", "domainId"];
        self.rows.each(NVTX, columns, |rows, [start, end, kind, text, text_id, tid, domain]| {
            let Builder { names, ids, trace, .. } = rows;
            let of = thread(tid).map(|(pid, _)| (pid, domain.int().unwrap_or(0)));
            match (kind.int(), &of) {
                (Some(MARK), Ok(domain)) => python.mark(*domain),
                (Some(DOMAIN), Ok(domain)) => {
                    let name = if text.is_null() { text_id } else { text };
                    let name = names.sym_or_empty(&mut trace.strings, name)?;
                    python.domain(*domain, trace.text(name));
                    domains.names.insert(*domain, name);
                }
                _ => {}
            }
            let is_range = matches!(kind.int(), Some(PUSH_POP | START_END)) || !typed && !end.is_null();
            if !is_range {
                others += 1;
                return Ok(());
            }
            let (start, end) = interval(start, end, &TIMES)?;
            let (pid, tid) = thread(tid)?;
            // A range may have no text but a payload; it is a range all the same.
            let name = match (text.is_null(), text_id.is_null()) {
                (false, _) => names.sym(&mut trace.strings, text)?,
                (true, false) => names.sym(&mut trace.strings, text_id)?,
                (true, true) => Sym::EMPTY,
            };
            let thread = ids.thread(trace, pid, tid);
            let range = Range { start, end, thread, kind: RangeKind::User, name, ..Range::default() };
            let domain = of?;
            if !python.takes(domain, range, trace.text(name)) {
                domains.ranges.push((trace.ranges.push(range), domain));
            }
            Ok(())
        })?;
        domains.finish(&mut self.rows.trace.ranges);
        let meta = &mut self.rows.trace.meta;
        meta.leave_out("samples of Python stacks", python.samples());
        meta.leave_out("NVTX marks, categories and domains", others - python.samples());
        python.finish(&mut self.rows.trace);
        Ok(())
    }

    /// Reads the times of Nsight Systems' own work in the program: starting up, flushing.
    fn profiler_overhead(&mut self) -> Result<(), Problem> {
        self.rows.each(PROFILER, ["start", "end", "globalTid", "nameId"], |rows, [start, end, tid, name]| {
            let times = interval(start, end, &TIMES)?;
            let strings = &mut rows.trace.strings;
            let name = rows.names.sym(strings, name)?;
            let name = overhead::nsys_text(strings.text(name)).to_owned();
            let name = strings.intern(&name);
            rows.overhead(times, known_thread(tid), name);
            Ok(())
        })
    }

    /// Reads the times that CUPTI and the driver take for themselves: buffers, compiling, loading.
    fn cupti_overhead(&mut self) -> Result<(), Problem> {
        self.rows.each(
            CUPTI,
            ["start", "end", "globalTid", "overheadType"],
            |rows, [start, end, tid, kind]| {
                let times = interval(start, end, &TIMES)?;
                let name = rows.trace.strings.intern(overhead::nsys(kind.int().unwrap_or(0)));
                rows.overhead(times, known_thread(tid), name);
                Ok(())
            },
        )
    }
}

fn known_thread(global: Value) -> Option<(i64, i64)> {
    thread(global).ok().filter(|&(_, tid)| tid != 0)
}
