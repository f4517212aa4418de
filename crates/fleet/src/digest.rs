//! The rows of one trace.

use crate::cells::{Kind, Row};
use crate::collectives::{self, Detail};
use crate::identity::Identity;
use crate::text::{LONGEST, elided, place_text};
use explain::{AccountPart, Explanation, Finding, GpuAccount, Steady};
use serde_json::json;
use trace::Trace;

/// Most findings, parts of an account, and slow steps: a choice.
const MOST: usize = 64;

/// A trace's rows.
pub struct Digest<'a> {
    /// Of what they are.
    pub identity: Identity,
    /// All but the collectives.
    rows: Vec<Row>,
    /// Trace and explanation of the collectives; `None` for a trace that cannot be read.
    of: Option<(&'a Trace, &'a Explanation)>,
}

impl Digest<'_> {
    /// All rows but those of the collectives.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows of the collectives in a level of detail, 0 for the most; `None` beyond the last level.
    pub(crate) fn collectives(&self, level: usize) -> Option<Vec<Row>> {
        let detail = LEVELS.get(level)?;
        Some(
            self.of
                .map_or_else(Vec::new, |(trace, explanation)| collectives::rows(trace, explanation, *detail)),
        )
    }
}

/// Levels of detail, the first that fits counts: fewer places first, then fewer collectives.
const LEVELS: [Detail; 14] = {
    let mut levels = [Detail { every: 1, least: 0 }; 14];
    levels[1].least = 10;
    levels[2].least = 50;
    let mut level = 3;
    while level < levels.len() {
        levels[level] = Detail { every: 1 << (level - 2), least: 50 };
        level += 1;
    }
    levels
};

/// The digest of a trace. `explanation` is made with [`explain::explain_each`], so that it has each part of the idle time.
pub fn digest<'a>(trace: &'a Trace, explanation: &'a Explanation, identity: Identity) -> Digest<'a> {
    let mut rows = vec![of_trace(trace, explanation, &identity)];
    rows.extend(
        notes(explanation, &identity)
            .into_iter()
            .enumerate()
            .map(|(n, note)| Row { detail: Some(elided(&note)), ..Row::new(Kind::Note, n) }),
    );
    rows.push(verdict(explanation));
    let steady = explanation.accounts.steady;
    explanation.accounts.gpus.iter().for_each(|gpu| account(gpu, steady, &mut rows));
    rows.extend(explanation.findings.iter().take(MOST).enumerate().map(|(n, found)| finding(n, found)));
    steps(explanation, &mut rows);
    ranks(explanation, &mut rows);
    Digest { identity, rows, of: Some((trace, explanation)) }
}

/// The digest of a trace that cannot be read, with the error's line.
pub fn unreadable(identity: Identity, error: &str) -> Digest<'static> {
    let row = Row { detail: Some(error.chars().take(4 * LONGEST).collect()), ..Row::new(Kind::Error, 0) };
    Digest { identity, rows: vec![row], of: None }
}

/// Remarks about the trace, to read before anything else in it.
fn notes(explanation: &Explanation, identity: &Identity) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(named), Some(rank)) = (identity.other_rank, identity.rank) {
        notes.push(format!("the name has rank {named}, but the {} has rank {rank}", identity.rank_from.id()));
    }
    if identity.rank.is_none() {
        notes.push(String::from("the rank is unknown: name the file rank12.json, or give --rank"));
    }
    if explanation.trace.truncated {
        notes.push(String::from("the trace ends early: the rest was not written"));
    }
    if explanation.trace.lost_records > 0 {
        notes.push(format!("{} records lost", explanation.trace.lost_records));
    }
    notes.extend(explanation.trace.notes.iter().cloned());
    notes
}

fn of_trace(trace: &Trace, explanation: &Explanation, identity: &Identity) -> Row {
    let (begin, end) = trace.span().unwrap_or((0, 0));
    let summary = &explanation.trace;
    let detail = json!({
        "run_from": identity.run_from.id(),
        "rank_from": identity.rank_from.id(),
        "world_size": trace.meta.world_size,
        "epoch_unix_ns": trace.meta.epoch_unix_ns,
        "command": elided(&trace.meta.command),
        "driver": summary.driver,
        "runtime": summary.runtime,
        "libraries": summary.libraries,
        "lost_records": summary.lost_records,
        "truncated": summary.truncated,
        "refused": explanation.accounts.refused,
        "holdup": env!("CARGO_PKG_VERSION"),
    });
    Row {
        begin: Some(begin),
        end: Some(end),
        ns: trace.meta.epoch_unix_ns,
        count: i64::try_from(summary.calls.saturating_add(summary.ops)).ok(),
        bytes: trace.meta.world_size,
        name: Some(summary.source.clone()),
        detail: Some(detail.to_string()),
        ..Row::new(Kind::Trace, 0)
    }
}

fn verdict(explanation: &Explanation) -> Row {
    let gpus = &explanation.accounts.gpus;
    Row {
        ns: Some(gpus.iter().map(|gpu| gpu.busy_ns).sum()),
        ns2: Some(gpus.iter().map(GpuAccount::working_ns).sum()),
        name: Some(explanation.verdict.bound.id().to_owned()),
        detail: Some(report::verdict(explanation).chars().take(4 * LONGEST).collect()),
        ..Row::new(Kind::Verdict, 0)
    }
}

/// A GPU's time and its parts, which add up to it.
fn account(gpu: &GpuAccount, steady: Option<Steady>, rows: &mut Vec<Row>) {
    let device = Some(gpu.device);
    rows.push(Row {
        device,
        begin: steady.map(|steady| steady.start_ns),
        end: steady.map(|steady| steady.end_ns),
        ns: Some(gpu.span_ns),
        ns2: Some(gpu.exposed_communication_ns),
        name: Some(elided(&gpu.name)),
        ..Row::new(Kind::Gpu, 0)
    });
    let first = rows.len();
    rows.push(Row {
        device,
        ns: Some(gpu.busy_ns),
        name: Some(String::from("busy")),
        ..Row::new(Kind::Account, 0)
    });
    let mut spent: Vec<Row> = gpu.idle.iter().flat_map(|part| parts(device, part)).collect();
    spent.sort_by_key(|row| std::cmp::Reverse(row.ns));
    let rest = spent.split_off(spent.len().min(MOST));
    for (n, row) in spent.into_iter().enumerate() {
        rows.push(Row { n: n as i64 + 1, ..row });
    }
    // Of the smallest parts the causes are left.
    for row in rest {
        let is_of_cause =
            |known: &&mut Row| known.cause == row.cause && known.place.is_none() && known.name.is_none();
        match rows[first..].iter_mut().find(is_of_cause) {
            Some(known) => known.ns = Some(known.ns.unwrap_or(0) + row.ns.unwrap_or(0)),
            None => {
                let n = (rows.len() - first) as i64;
                rows.push(Row { n, place: None, name: None, ..row });
            }
        }
    }
}

/// An account's part by place and call; adds up to it.
fn parts(device: Option<i64>, part: &AccountPart) -> Vec<Row> {
    let row = |ns, place, name| Row {
        device,
        ns: Some(ns),
        cause: Some(part.cause.id()),
        place,
        name,
        ..Row::new(Kind::Account, 0)
    };
    let spent = part.spent.iter().map(|spent| {
        let call = if spent.place.is_none() { &*spent.call } else { "" };
        row(spent.ns, spent.place.as_ref().map(place_text), (!call.is_empty()).then(|| elided(call)))
    });
    let mut rows: Vec<Row> = spent.collect();
    let left = part.ns - part.spent.iter().map(|spent| spent.ns).sum::<i64>();
    if left != 0 {
        rows.push(row(left, None, None));
    }
    rows
}

fn finding(n: usize, finding: &Finding) -> Row {
    let detail = json!({
        "id": finding.id,
        "why": finding.why,
        "phase": finding.phase,
        "evidence": finding.evidence,
        "confidence": finding.confidence,
        "thread": elided(&finding.waiter.thread),
        "holder": finding.holder.as_ref().map(|holder| json!({
            "thread": elided(&holder.thread),
            "call": elided(&holder.call),
            "where": holder.places.first().map(place_text),
        })),
        "fixes": finding.fixes.iter().map(|fix| fix.id).collect::<Vec<_>>(),
    });
    Row {
        begin: finding.examples.first().map(|example| example.start_ns),
        ns: Some(finding.cost_ns),
        ns2: Some(finding.lost_ns),
        count: i64::try_from(finding.count).ok(),
        cause: Some(finding.cause.id()),
        place: finding.places.first().map(place_text),
        name: (!finding.waiter.call.is_empty()).then(|| elided(&finding.waiter.call)),
        detail: Some(detail.to_string()),
        ..Row::new(Kind::Finding, n)
    }
}

/// Most steps: a choice. Of more, equally many are left out between those that are kept.
const STEPS: usize = 512;

fn steps(explanation: &Explanation, rows: &mut Vec<Row>) {
    let Some(steps) = &explanation.steps else { return };
    let every = steps.each.len().div_ceil(STEPS).max(1);
    for (n, step) in steps.each.iter().enumerate().step_by(every) {
        rows.push(Row {
            device: steps.device,
            begin: Some(step.start_ns),
            end: Some(step.start_ns + step.duration_ns),
            ns: Some(step.busy_ns),
            name: (!step.name.is_empty()).then(|| elided(&step.name)),
            ..Row::new(Kind::Step, n)
        });
    }
    for (n, slow) in steps.slow.iter().take(MOST).enumerate() {
        for part in slow.more.iter().take(3) {
            rows.push(Row {
                device: steps.device,
                begin: Some(slow.start_ns),
                end: Some(slow.start_ns + slow.duration_ns),
                ns: Some(part.ns),
                cause: Some(part.cause.id()),
                place: part.places.first().map(place_text),
                name: part.calls.first().map(|call| elided(call)),
                ..Row::new(Kind::SlowStep, n)
            });
        }
    }
}

/// The ranks of collectives that are all in the trace.
fn ranks(explanation: &Explanation, rows: &mut Vec<Row>) {
    let Some(ranks) = &explanation.accounts.ranks else { return };
    for (n, rank) in ranks.ranks.iter().enumerate() {
        let device = Some(rank.device);
        rows.push(Row {
            device,
            ns: Some(rank.cost_ns),
            ns2: Some(rank.late_ns),
            count: i64::try_from(rank.late).ok(),
            detail: Some(json!({ "collectives": ranks.collectives }).to_string()),
            ..Row::new(Kind::Rank, n)
        });
        for cause in rank.causes.iter().flat_map(|part| parts(device, part)).take(MOST) {
            rows.push(Row { kind: Kind::RankCause, n: n as i64, ..cause });
        }
    }
}
