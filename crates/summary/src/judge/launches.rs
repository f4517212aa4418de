//! Calls that launch kernels: their usual cost, or a wait.

use super::facts::{ALIKE, Facts, USUAL_NS, each, reaches, sum};
use super::memory::first_call;
use crate::judgement::{Reading, Sight};
use crate::model::{Row, Tool};
use explain::{Cause, Class};

/// Number of launches that a stream's queue takes; the next one waits (`docs/lab/h200.md`).
const QUEUE: u64 = 1_022;

/// Number of launches from which their usual cost is worth a word.
const MANY: u64 = 100;

/// The reading of all calls that launch.
pub(super) fn reading(facts: &Facts<'_>) -> Option<Reading> {
    let rows = facts.calls(|class| class == Class::Launch);
    let (count, calls_ns) = sum(rows.iter().copied());
    if calls_ns == 0 {
        return None;
    }
    let of = |sight| facts.of(sight, rows.iter().copied());
    if let Some(first) = rows.iter().find_map(|row| first_launch(facts, row)) {
        return Some(first);
    }
    if each(count, calls_ns) < USUAL_NS {
        let fixes: &[&str] =
            if facts.summary.tool == Tool::Torch { &["foreach", "graph"] } else { &["graph"] };
        return (count >= MANY).then(|| of(Sight::Launches).because(Cause::OwnWork, fixes));
    }
    let is_graph = rows.iter().any(|row| row.name.contains("Graph"));
    let (kernels, kernels_ns) = facts.kernels;
    // A graph or a library can launch several kernels, but a launch of one has a row with as many.
    let is_each = !is_graph && (kernels == 0 || kernels >= count / 2);
    if facts.work_ns.is_some() && !reaches(kernels_ns, ALIKE, calls_ns) {
        return Some(of(Sight::Unlike).unknown());
    }
    if facts.work_ns.is_none() || !is_each {
        return Some(of(Sight::Alike).unknown());
    }
    // After a wait the queue is empty.
    let waits = facts.calls(|class| matches!(class, Class::Sync | Class::Copy { .. }));
    let between = count / sum(waits).0.saturating_add(1);
    Some(match () {
        () if between > QUEUE => of(Sight::FullQueue).because(Cause::QueueFull, &["graph"]),
        // A launch that waits for its kernel is never shorter.
        () if calls_ns >= kernels_ns => {
            of(Sight::BlockedLaunches).because(Cause::BlockingLaunch, &["async-launches"])
        }
        () => of(Sight::Alike).unknown(),
    })
}

/// A launch that took most of the time of all: code is loaded when it is first needed.
fn first_launch(facts: &Facts<'_>, row: &Row) -> Option<Reading> {
    let first = first_call(facts, row)?;
    // A launch can also wait once, for as long as the kernels before it take.
    let is_shorter = facts.work_ns.is_none_or(|work_ns| !reaches(work_ns, ALIKE, first.time_ns));
    Some(match is_shorter {
        true => first.because(Cause::FirstUse, &["eager-loading"]),
        false => Reading { sight: Sight::Alike, ..first }.unknown(),
    })
}
