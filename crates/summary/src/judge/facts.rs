//! Sums of a summary that rules ask for.

use crate::judgement::{Reading, Sight};
use crate::model::{Memory, Row, Summary, Tool, WorkKind};
use explain::{About, Cause, Class, Confidence, Fix, classify, communicates};
use trace::Ns;

/// Part of a sum that another must reach to explain it. Tables round to four digits and calls overlap with what follows, so
/// it is no equality; of the discussions that `tests/tables` rebuilds, none is between 0.4 and 0.7.
pub(super) const ALIKE: f64 = 0.7;

/// Cost of a launch or of a small copy with nothing in its way, while a profiler records it, ns: 3 to 8 µs in the tables of
/// discussions, up to 10 µs for a launch through a library.
pub(super) const USUAL_NS: Ns = 15_000;

/// A summary with its sums.
pub(super) struct Facts<'a> {
    pub(super) summary: &'a Summary,
    /// Kernels and fills.
    pub(super) kernels: (u64, Ns),
    /// Copies.
    pub(super) copies: (u64, Ns),
    /// All work of the GPU, ns; `None` if the table has none.
    pub(super) work_ns: Option<Ns>,
    /// All calls, ns.
    pub(super) calls_ns: Ns,
    /// Time that shares are parts of, ns.
    pub(super) whole_ns: Ns,
}

impl<'a> Facts<'a> {
    pub(super) fn new(summary: &'a Summary) -> Facts<'a> {
        let of = |is_wanted: fn(WorkKind) -> bool| {
            let rows = summary.work.iter().filter(|work| is_wanted(work.kind)).map(|work| &work.row);
            sum(rows)
        };
        let mut kernels = of(|kind| matches!(kind, WorkKind::Kernel | WorkKind::Fill));
        let copies = of(|kind| matches!(kind, WorkKind::Copy { .. }));
        if summary.tool == Tool::Torch {
            let issued = summary.operators.iter().filter_map(|operator| operator.device_ns);
            let issued = issued.fold(0, Ns::saturating_add);
            let all = summary.device_ns.unwrap_or(issued);
            kernels.1 = kernels.1.max(all.saturating_sub(copies.1));
        }
        let calls_ns = sum(&summary.calls).1;
        let own = summary.operators.iter().map(|operator| operator.self_ns).fold(0, Ns::saturating_add);
        let host_ns = summary.host_ns.unwrap_or(own.saturating_add(calls_ns));
        let work_ns = kernels.1.saturating_add(copies.1);
        let whole_ns = summary.span_ns.unwrap_or(if host_ns > 0 { host_ns } else { work_ns });
        let work_ns = summary.has_work.then_some(work_ns);
        Facts { summary, kernels, copies, work_ns, calls_ns, whole_ns }
    }

    /// The calls of some classes.
    pub(super) fn calls(&self, is_wanted: impl Fn(Class) -> bool) -> Vec<&'a Row> {
        self.summary.calls.iter().filter(|row| is_wanted(classify(&row.name))).collect()
    }

    /// Time of the kernels that communicate, and their number.
    pub(super) fn collectives(&self) -> (u64, Ns) {
        let kernels = self.summary.work.iter().filter(|work| work.kind == WorkKind::Kernel);
        sum(kernels.map(|work| &work.row).filter(|row| communicates(&row.name)))
    }

    /// Memory of the host in most of the copies' time; copies within GPUs do not count.
    pub(super) fn memory(&self) -> Memory {
        let of = |wanted: Memory| {
            let rows = self.summary.work.iter().filter(|work| work.kind == WorkKind::Copy { memory: wanted });
            sum(rows.map(|work| &work.row)).1
        };
        let all = [Memory::Pageable, Memory::Pinned, Memory::Unknown, Memory::None];
        all.into_iter()
            .max_by_key(|memory| of(*memory))
            .filter(|memory| of(*memory) > 0)
            .unwrap_or(Memory::Unknown)
    }

    /// A reading of rows, named after the largest.
    pub(super) fn of<'r>(&self, sight: Sight, rows: impl IntoIterator<Item = &'r Row>) -> Reading {
        let rows: Vec<&Row> = rows.into_iter().collect();
        let (count, time_ns) = sum(rows.iter().copied());
        let largest = rows.iter().max_by_key(|row| row.total_ns);
        Reading {
            sight,
            name: largest.map_or(String::new(), |row| row.name.clone()),
            names: rows.len(),
            count,
            time_ns,
            max_ns: rows.iter().filter_map(|row| row.max_ns).max(),
            kernels: self.work_ns.map(|_| self.kernels),
            copies_ns: self.work_ns.map(|_| self.copies.1),
            together_ns: None,
            cause: None,
            bound: None,
            confidence: None,
            fixes: Vec::new(),
        }
    }
}

impl Reading {
    /// The reading with a cause that is possible, and those of the cause's fixes that have these ids.
    pub(super) fn because(mut self, cause: Cause, fixes: &[&str]) -> Reading {
        let has = |fix: &&Fix| fixes.contains(&fix.id);
        self.fixes = About::of(cause).fixes.iter().filter(has).copied().collect();
        self.confidence =
            (cause != Cause::Unexplained && cause != Cause::NotRecorded).then_some(Confidence::Possible);
        self.cause = Some(cause);
        self
    }

    /// The reading without a cause that a table could name.
    pub(super) fn unknown(self) -> Reading {
        self.because(Cause::Unexplained, &[])
    }
}

/// Number and time of rows.
pub(super) fn sum<'r>(rows: impl IntoIterator<Item = &'r Row>) -> (u64, Ns) {
    rows.into_iter().fold((0, 0), |(count, ns), row| {
        (u64::saturating_add(count, row.count), Ns::saturating_add(ns, row.total_ns))
    })
}

/// Whether `part` is at least a share of `whole`.
pub(super) fn reaches(part: Ns, share: f64, whole: Ns) -> bool {
    part as f64 >= share * whole as f64
}

/// Mean of rows, ns.
pub(super) fn each(count: u64, ns: Ns) -> Ns {
    ns / Ns::try_from(count.max(1)).unwrap_or(Ns::MAX)
}
