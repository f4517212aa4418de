//! The judgement of summary tables for programs. `docs/schema/summary.json` describes it.

use super::{Judged, sentences, steps};
use serde::Serialize;
use summary::{Judgement, Limit, Reading, Sight, Step, Summary, Tool};
use trace::Ns;

const SCHEMA: &str = "holdup/summary/1";

/// The tables of a text as one JSON object.
pub fn json(judged: &Judged) -> String {
    let tables = judged.tables.iter().map(|(summary, judgement)| Table::of(summary, judgement)).collect();
    crate::json(SCHEMA, &Document { path: &judged.path, tables })
}

#[derive(Serialize)]
struct Document<'a> {
    path: &'a str,
    tables: Vec<Table<'a>>,
}

#[derive(Serialize)]
struct Table<'a> {
    tool: Tool,
    line: usize,
    span_ns: Option<Ns>,
    calls_ns: Ns,
    work_ns: Option<Ns>,
    unread_rows: u64,
    verdict: Conclusion,
    whole_ns: Ns,
    readings: Vec<Part<'a>>,
    limits: &'a [Limit],
    next: Vec<Next>,
}

/// The verdict.
#[derive(Serialize)]
struct Conclusion {
    id: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Part<'a> {
    sight: Sight,
    name: &'a str,
    names: usize,
    count: u64,
    time_ns: Ns,
    max_ns: Option<Ns>,
    kernels: Option<u64>,
    kernels_ns: Option<Ns>,
    copies_ns: Option<Ns>,
    together_ns: Option<Ns>,
    cause: Option<&'static str>,
    bound: Option<&'static str>,
    confidence: Option<&'static str>,
    fixes: Vec<&'static str>,
    text: String,
}

#[derive(Serialize)]
struct Next {
    step: Step,
    commands: Vec<String>,
}

impl Table<'_> {
    fn of<'a>(summary: &'a Summary, judgement: &'a Judgement) -> Table<'a> {
        let sum = |rows: &mut dyn Iterator<Item = Ns>| rows.fold(0, Ns::saturating_add);
        let work_ns = sum(&mut summary.work.iter().map(|work| work.row.total_ns));
        let next = |step: &Step| Next { step: *step, commands: steps::sentences(*step, summary.tool) };
        Table {
            tool: summary.tool,
            line: summary.line,
            span_ns: summary.span_ns,
            calls_ns: sum(&mut summary.calls.iter().map(|row| row.total_ns)),
            work_ns: summary.has_work.then_some(work_ns),
            unread_rows: summary.unread,
            verdict: Conclusion { id: judgement.verdict.id(), text: sentences::verdict(judgement) },
            whole_ns: judgement.whole_ns,
            readings: judgement.readings.iter().map(Part::of).collect(),
            limits: &judgement.limits,
            next: judgement.next.iter().map(next).collect(),
        }
    }
}

impl Part<'_> {
    fn of(reading: &Reading) -> Part<'_> {
        Part {
            sight: reading.sight,
            name: &reading.name,
            names: reading.names,
            count: reading.count,
            time_ns: reading.time_ns,
            max_ns: reading.max_ns,
            kernels: reading.kernels.map(|(number, _)| number),
            kernels_ns: reading.kernels.map(|(_, ns)| ns),
            copies_ns: reading.copies_ns,
            together_ns: reading.together_ns,
            cause: reading.cause.map(|cause| cause.id()),
            bound: reading.bound.map(|bound| bound.id()),
            confidence: reading.confidence.map(|confidence| confidence.id()),
            fixes: reading.fixes.iter().map(|fix| fix.id).collect(),
            text: sentences::seen(reading),
        }
    }
}
