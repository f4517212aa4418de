//! The GPU's work itself: communication, pages, and how much of the time it fills.

use super::facts::{Facts, reaches};
use crate::judgement::{Reading, Sight};
use crate::model::{Row, WorkKind};
use explain::{Bound, Cause};

/// Part of the time from which the GPU works nearly always.
const BUSY: f64 = 0.9;

/// Part of the GPU's work from which communication is worth a word.
const NOTED: f64 = 0.1;

/// Part of the GPU's work from which communication or pages are what the GPU is busy with.
const MOST: f64 = 0.5;

/// Part of the span in which no call is recorded, from which most is outside of calls.
const OUTSIDE: f64 = 0.5;

/// The readings of work that communicates and of pages that migrate.
pub(super) fn readings(facts: &Facts<'_>) -> Vec<Reading> {
    let mut readings = Vec::new();
    let (_, communicating_ns) = facts.collectives();
    let work_ns = facts.work_ns.unwrap_or(0);
    let kernels =
        || facts.summary.work.iter().filter(|work| work.kind == WorkKind::Kernel).map(|work| &work.row);
    if communicating_ns > 0 && reaches(communicating_ns, NOTED, work_ns) {
        let rows = kernels().filter(|row| explain::communicates(&row.name));
        readings.push(facts.of(Sight::Collectives, rows).because(Cause::CollectiveWait, &[]));
    }
    let pages: Vec<&Row> = facts
        .summary
        .work
        .iter()
        .filter(|work| work.kind == WorkKind::Migration)
        .map(|work| &work.row)
        .collect();
    let reading = facts.of(Sight::Pages, pages);
    if reading.time_ns > 0 && reaches(reading.time_ns, NOTED, work_ns) {
        readings.push(reading.because(Cause::PageMigration, &["prefetch"]));
    }
    readings
}

/// Whether a reading is of half of the GPU's work, which is then no work of the program's own: it says more than that the GPU is busy.
pub(super) fn is_most(facts: &Facts<'_>, reading: &Reading) -> bool {
    let is_foreign = matches!(reading.sight, Sight::Collectives | Sight::Pages);
    is_foreign && facts.work_ns.is_some_and(|work_ns| reaches(reading.time_ns, MOST, work_ns))
}

/// Whether the GPU works nearly all of a known time. The sum of the calls is none: it has no time between calls.
pub(super) fn busy(facts: &Facts<'_>) -> Option<Reading> {
    let summary = facts.summary;
    let is_known = summary.span_ns.is_some() || !summary.operators.is_empty();
    let work_ns = facts.work_ns.filter(|work_ns| is_known && reaches(*work_ns, BUSY, facts.whole_ns))?;
    let is_copies = facts.copies.1 > facts.kernels.1;
    let rows = summary.work.iter().filter(|work| work.kind != WorkKind::Migration).map(|work| &work.row);
    let bound = Some(if is_copies { Bound::Copies } else { Bound::Gpu });
    Some(Reading { time_ns: work_ns, bound, ..facts.of(Sight::GpuBusy, rows) })
}

/// Time of the span in which the table has neither a call nor work of the GPU.
pub(super) fn outside(facts: &Facts<'_>) -> Option<Reading> {
    let span_ns = facts.summary.span_ns?;
    let known_ns = facts.calls_ns.saturating_add(facts.work_ns.unwrap_or(0));
    let outside_ns = span_ns.saturating_sub(known_ns);
    let reading = Reading { time_ns: outside_ns, ..facts.of(Sight::Outside, []) };
    let is_whole = facts.summary.has_calls && reaches(outside_ns, OUTSIDE, span_ns);
    is_whole.then(|| reading.because(Cause::NotRecorded, &[]))
}
