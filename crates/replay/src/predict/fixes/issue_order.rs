//! Operations of several streams are issued in the other order: stream after stream, or round after round.

use super::scene::At;
use super::{Fix, Scene};
use crate::{Recovered, StepOf};
use explain::Class;
use sim::{Does, RecordedStep, WorkKind};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) const FIX: Fix = Fix {
    id: "issue-order",
    text: "issue operations breadth-first instead of depth-first, or the other way round",
    safety: "safe across streams that do not depend on each other",
    apply,
};

/// Calls that issue operations to several streams, with nothing between them that depends on their order, trade places: those of a
/// round of the streams.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let mut changed = 0;
    for row in 0..to.steps.len() {
        for run in runs(scene, row) {
            for round in rounds(&run) {
                changed += reorder(&round, to);
            }
        }
    }
    if changed > 0 {
        to.model.device.delayed_signals = to.signals_together;
        // What waited in a hardware queue behind what was issued before it waits behind something else now.
        let aliased = std::mem::take(&mut to.aliased);
        aliased.iter().for_each(|row| to.recorded.works[*row as usize].after = None);
    }
    changed
}

/// A call that issues operations to a stream.
#[derive(Clone, Copy)]
struct Issue {
    at: At,
    stream: u32,
    kind: WorkKind,
}

/// The calls of a thread that issue operations, in runs that nothing else divides.
fn runs(scene: &Scene<'_>, row: usize) -> Vec<Vec<Issue>> {
    let (mut runs, mut next) = (vec![Vec::new()], 0);
    for at in scene.calls_of(row) {
        // Waits for other threads, and locks, are steps that are no calls.
        let passes = &scene.base.recorded.threads[row][next..at.at];
        let alone = passes.iter().all(|step| matches!(step, RecordedStep::Host(_)));
        next = at.at + 1;
        let issue = issue(scene, at);
        let harmless = matches!(scene.class(at.id), Class::Query) && at.call.does == Does::Nothing;
        if !alone || (issue.is_none() && !harmless) {
            runs.push(Vec::new());
        }
        if let (Some(run), Some(issue)) = (runs.last_mut(), issue) {
            run.push(issue);
        }
    }
    runs
}

/// A call that issues one operation and does not wait for it.
fn issue(scene: &Scene<'_>, at: At) -> Option<Issue> {
    let Does::Issue { works, waits: false } = at.call.does else { return None };
    let work = scene.base.recorded.works.get(works.first as usize).filter(|_| works.count == 1)?;
    // An operation of another stream that it waits for comes first.
    let is_aliased = || scene.base.aliased.binary_search(&works.first).is_ok();
    (work.after.is_none() || is_aliased()).then_some(Issue { at, stream: work.stream, kind: work.kind })
}

/// Parts of a run in which the streams take turns once: each stream's calls together, or one call of each again and again.
fn rounds(run: &[Issue]) -> Vec<Vec<Issue>> {
    let mut turns: Vec<Vec<Issue>> = Vec::new();
    for issue in run {
        match turns.last_mut().filter(|turn| turn[0].stream == issue.stream) {
            Some(turn) => turn.push(*issue),
            None => turns.push(vec![*issue]),
        }
    }
    let mut rounds: Vec<Vec<Issue>> = Vec::new();
    let mut seen = BTreeSet::new();
    for turn in turns {
        if rounds.is_empty() || !seen.insert(turn[0].stream) {
            seen = BTreeSet::from([turn[0].stream]);
            rounds.push(Vec::new());
        }
        if let Some(round) = rounds.last_mut() {
            round.extend(turn);
        }
    }
    match rounds.iter().all(|round| seen_once(round)) {
        true => together(&rounds),
        false => rounds,
    }
}

/// Whether a round has one call of each stream.
fn seen_once(round: &[Issue]) -> bool {
    round.iter().map(|issue| issue.stream).collect::<BTreeSet<_>>().len() == round.len()
}

/// Rounds of one call a stream, as many together as it takes until kinds of operations repeat.
fn together(rounds: &[Vec<Issue>]) -> Vec<Vec<Issue>> {
    let kinds: Vec<WorkKind> = rounds.iter().map(|round| round[0].kind).collect();
    let repeats = |period: &usize| kinds.iter().skip(*period).eq(&kinds[..kinds.len() - period]);
    let period = (1..kinds.len()).find(repeats).unwrap_or(kinds.len()).max(1);
    rounds.chunks(period).map(<[_]>::concat).collect()
}

/// Puts the calls of a round into the other order. Returns how many move.
fn reorder(round: &[Issue], to: &mut Recovered) -> usize {
    let mut streams = Vec::new();
    let mut keys = Vec::with_capacity(round.len());
    for issue in round {
        let stream = streams.iter().position(|of| *of == issue.stream).unwrap_or(streams.len());
        if stream == streams.len() {
            streams.push(issue.stream);
        }
        let before = keys.iter().filter(|(_, of)| *of == stream).count();
        keys.push((before, stream));
    }
    let mut order: Vec<usize> = (0..round.len()).collect();
    match keys.is_sorted() {
        true => order.sort_by_key(|at| (keys[*at].1, keys[*at].0)),
        false => order.sort_by_key(|at| keys[*at]),
    }
    let row = |at: usize| (round[at].at.row, round[at].at.at);
    let calls: Vec<(RecordedStep, StepOf)> = order
        .iter()
        .map(|at| row(*at))
        .map(|(row, at)| (to.recorded.threads[row][at], to.steps[row][at]))
        .collect();
    let steps = Arc::make_mut(&mut to.steps);
    for (at, (step, of)) in calls.into_iter().enumerate() {
        let (row, at) = row(at);
        (to.recorded.threads[row][at], steps[row][at]) = (step, of);
    }
    (0..).zip(&order).filter(|(at, from)| at != *from).count()
}
