//! Judges a summary. Each rule looks at the sums of some rows and makes readings of them; none knows an order or a thread.

mod copies;
mod facts;
mod launches;
mod memory;
mod operators;
mod waits;
mod work;

use crate::judgement::{Judgement, Limit, Reading, Sight, Step, Verdict};
use crate::model::{Summary, Tool};
use explain::{Bound, Class};
use facts::{ALIKE, Facts, USUAL_NS, each, reaches, sum};
use trace::Ns;

/// Part of the whole below which a reading is left out, unless it is the only one.
const NOTED: f64 = 0.02;

/// Part of the whole that the largest reading must have to be the verdict.
const VERDICT: f64 = 0.1;

/// Part of the time of several calls that one of them takes, if it is of another kind than the others.
const ONCE: f64 = 0.8;

/// Judges the sums of one profile.
pub fn judge(summary: &Summary) -> Judgement {
    let facts = Facts::new(summary);
    let mut readings = readings(&facts);
    readings.sort_by_key(|reading| std::cmp::Reverse(reading.time_ns));
    if let Some(busy) = work::busy(&facts).filter(|_| !is_explained(summary, &readings)) {
        readings.insert(0, busy);
    }
    let is_busy = readings.first().is_some_and(|first| first.cause.is_none());
    if let Some(at) = readings.iter().position(|reading| is_busy && work::is_most(&facts, reading)) {
        readings[..=at].rotate_right(1);
    }
    let is_noted = |reading: &Reading| reaches(reading.time_ns, NOTED, facts.whole_ns);
    let mut at = 0;
    readings.retain(|reading| {
        at += 1;
        at == 1 || is_noted(reading)
    });
    let first = readings.first().filter(|reading| reaches(reading.time_ns, VERDICT, facts.whole_ns));
    let verdict = first.map_or(Verdict::CannotTell, verdict);
    let next = next(verdict, &readings);
    Judgement { verdict, whole_ns: facts.whole_ns, readings, limits: limits(summary), next }
}

/// Steps that show more. What one call of several takes alone may happen once in a process.
fn next(verdict: Verdict, readings: &[Reading]) -> Vec<Step> {
    let is_once =
        |reading: &Reading| reading.max_ns.is_some_and(|max_ns| reaches(max_ns, ONCE, reading.time_ns));
    let is_again = verdict == Verdict::CannotTell && readings.first().is_some_and(is_once);
    is_again.then_some(Step::Again).into_iter().chain([Step::Trace]).collect()
}

/// Whether calls that wait for kernels are the answer, although the GPU works nearly always: somebody asks what the calls do.
fn is_explained(summary: &Summary, readings: &[Reading]) -> bool {
    let is_wait =
        |reading: &Reading| matches!(reading.sight, Sight::CopiesWait | Sight::FullQueue | Sight::CopiesRun);
    summary.tool != Tool::Torch && readings.first().is_some_and(is_wait)
}

fn verdict(reading: &Reading) -> Verdict {
    match reading.cause {
        Some(_) if reading.is_untold() => Verdict::CannotTell,
        Some(cause) => Verdict::Cause(cause),
        None => Verdict::Busy(reading.bound.unwrap_or(Bound::Unknown)),
    }
}

fn readings(facts: &Facts<'_>) -> Vec<Reading> {
    let launches = launches::reading(facts);
    let launched_ns = match &launches {
        Some(reading) if matches!(reading.sight, Sight::FullQueue | Sight::BlockedLaunches) => {
            reading.time_ns
        }
        _ => 0,
    };
    let free_ns = facts.work_ns.map(|work_ns| (work_ns - launched_ns).max(0));
    let waits = waits::readings(facts, free_ns);
    let waited_ns = waits.iter().map(|reading| reading.time_ns).fold(launched_ns, Ns::saturating_add);
    let copies = copies::reading(facts, waited_ns);
    let free_ns = facts.work_ns.map_or(0, |work_ns| work_ns.saturating_sub(waited_ns).max(0));
    let operators = operators::readings(facts);
    let read_back_ns =
        operators.iter().find(|reading| reading.sight == Sight::ReadBack).map_or(0, |it| it.time_ns);
    let mut readings: Vec<Reading> = waits.into_iter().chain(copies).collect();
    // These calls are what the operators wait in.
    readings.retain(|reading| !reaches(read_back_ns, ALIKE, reading.time_ns) || read_back_ns == 0);
    readings.extend(launches.into_iter().chain(operators));
    readings.extend(memory::readings(facts, free_ns));
    readings.extend(memory::once(facts));
    readings.extend(work::readings(facts));
    readings.extend(others(facts));
    readings.extend(work::outside(facts));
    readings
}

/// Calls of no other rule that take long.
fn others(facts: &Facts<'_>) -> Option<Reading> {
    let rows = facts.calls(|class| matches!(class, Class::Other | Class::Fill));
    let rows: Vec<_> = rows.into_iter().filter(|row| each(row.count, row.total_ns) >= USUAL_NS).collect();
    let (_, ns) = sum(rows.iter().copied());
    let sight = if facts.work_ns.is_some() { Sight::Unlike } else { Sight::Alike };
    (ns > 0).then(|| facts.of(sight, rows).unknown())
}

/// Facts that a summary does not have.
fn limits(summary: &Summary) -> Vec<Limit> {
    let is_torch = summary.tool == Tool::Torch;
    let limits = [
        (Limit::Order, true),
        (Limit::Threads, true),
        (Limit::Place, true),
        (Limit::Span, summary.span_ns.is_none()),
        (Limit::Nested, is_torch),
        (Limit::Work, !summary.has_work),
        (Limit::Calls, !summary.has_calls && !is_torch),
        (Limit::Rows, summary.is_cut || summary.unread > 0),
        (Limit::Sleepers, !summary.os.is_empty()),
    ];
    limits.into_iter().filter(|(_, is_missing)| *is_missing).map(|(limit, _)| limit).collect()
}
