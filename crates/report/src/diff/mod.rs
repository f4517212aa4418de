//! The difference between traces before and after a change as text, JSON and Markdown, and what a gate judged as JUnit and SARIF.

mod document;
mod gate;
mod junit;
mod lines;
mod sarif;

pub use document::document;
pub use gate::{Reason, doubts, reasons};
pub use junit::junit;
pub use sarif::sarif;

use crate::{header, steps, units};
use explain::diff::{Change, Diff, Lack, RecordKind, Side};
use explain::{StepSource, Summary};
use serde::Serialize;
use std::collections::BTreeSet;

/// A comparison: what was compared, and what differs.
#[derive(Serialize)]
pub struct Comparison {
    /// The traces before the change.
    pub before: Vec<Summary>,
    /// The traces after it.
    pub after: Vec<Summary>,
    /// The difference.
    #[serde(flatten)]
    pub diff: Diff,
}

/// A comparison as one JSON object: everything in nanoseconds, changes that are noise included. `docs/schema/diff.json` describes it.
pub fn json(comparison: &Comparison) -> String {
    crate::json("holdup/diff/1", comparison)
}

/// One of several figures by which a change is judged.
#[derive(Clone, Copy)]
pub enum Judged<'a> {
    /// The selected time.
    Wall,
    /// The median step.
    Step(StepSource, &'a str),
}

/// Figure that is judged, and its change: the median step if both sides have the same steps, else the selected time.
pub fn judged(diff: &Diff) -> (Judged<'_>, &Change) {
    match &diff.steps {
        Some(steps) => (Judged::Step(steps.source, &steps.name), &steps.median),
        None => (Judged::Wall, &diff.wall),
    }
}

/// Why a change is too large: `a step (ProfilerStep) took 17.2 ms, 12 % more than 15.4 ms before`.
pub fn reason(judged: Judged<'_>, change: &Change) -> String {
    let what = match judged {
        Judged::Wall => String::from("the program"),
        Judged::Step(source, name) => format!("a step ({})", steps::name(source, name)),
    };
    let more = match change.share() {
        Some(share) => units::percent(share),
        None => units::duration(change.change_ns),
    };
    let [before, after] = [change.before, change.after].map(|amount| units::duration(amount.ns));
    format!("{what} took {after}, {more} more than {before} before")
}

/// Remarks about what a comparison cannot say, one sentence each.
fn remarks(comparison: &Comparison) -> Vec<String> {
    let mut remarks = Vec::new();
    let source = |side: &[Summary]| side.first().map_or(String::new(), |trace| trace.source_title.clone());
    let (before, after) = (source(&comparison.before), source(&comparison.after));
    if before != after {
        remarks.push(format!("recorded by different tools: {before} before, {after} after"));
    }
    remarks.extend(other_settings([&comparison.before, &comparison.after].map(|side| side.first())));
    remarks.extend(other_work(comparison));
    for side in Side::ALL {
        let lacks = comparison.diff.lacks.iter().filter(|lack| lack.side == *side);
        let lacks: Vec<&str> = lacks.map(|lack: &Lack| kept(lack.what)).collect();
        if !lacks.is_empty() {
            remarks.push(format!("the traces {} have no {}", side.id(), lacks.join(", no ")));
        }
    }
    for trace in comparison.before.iter().chain(&comparison.after) {
        if let Some(losses) = header::losses(trace) {
            remarks.push(format!("{}: {losses}", crate::visible(&trace.path)));
        }
    }
    remarks
}

/// `CUDA_MODULE_LOADING is LAZY before, not stated after: the comparison is of this, too`, for each variable of the environment that
/// differs between two traces.
fn other_settings(sides: [Option<&Summary>; 2]) -> Vec<String> {
    let of = |side: Option<&Summary>, name: &str| {
        let settings = side.into_iter().flat_map(|trace| &trace.settings);
        let values: Vec<_> = settings.filter(|setting| setting.name == name).map(header::value).collect();
        if values.is_empty() { String::from("not stated") } else { values.join(" and ") }
    };
    let settings = sides.into_iter().flatten().flat_map(|trace| &trace.settings);
    let names: BTreeSet<&str> = settings.map(|setting| setting.name).collect();
    let values = names.into_iter().map(|name| (name, sides.map(|side| of(side, name))));
    let differing = values.filter(|(_, [before, after])| before != after);
    let sentence = |(name, [before, after]): (&str, [String; 2])| {
        format!("{name} is {before} before, {after} after: the comparison is of this, too")
    };
    differing.map(sentence).collect()
}

/// A difference in GPU operations, in percent, from which on both sides did other work: a choice.
const OTHER_WORK: u64 = 10;

/// `other work: 1,445 GPU ops before, 69,938 after; 1,160 and 56,200 a second: …`; `None` if both sides did about as much, or have the same
/// steps, which are compared one by one.
fn other_work(comparison: &Comparison) -> Option<String> {
    let most =
        |side: &[Summary]| side.iter().max_by_key(|trace| trace.ops).map(|trace| (trace.ops, rate(trace)));
    let ((before, rate_before), (after, rate_after)) = (most(&comparison.before)?, most(&comparison.after)?);
    let is_other = before.abs_diff(after) * 100 > before.max(after) * OTHER_WORK;
    (is_other && comparison.diff.steps.is_none()).then(|| {
        let [before, after] = [before, after].map(units::count);
        let [rate_before, rate_after] = [rate_before, rate_after].map(units::number);
        format!(
            "other work: {before} GPU ops before, {after} after; {rate_before} and {rate_after} a second: compare rates, not times"
        )
    })
}

/// GPU operations a second of a trace.
fn rate(trace: &Summary) -> f64 {
    trace.ops as f64 * 1e9 / trace.selected_ns.unwrap_or(trace.duration_ns).max(1) as f64
}

fn kept(what: RecordKind) -> &'static str {
    match what {
        RecordKind::Operations => "GPU operations",
        RecordKind::Waits => "waits for locks",
        RecordKind::States => "scheduler's numbers",
        RecordKind::Samples => "samples",
        RecordKind::Stacks => "stacks of calls",
        RecordKind::Ranges => "ranges",
        RecordKind::IdleCauses => "causes of idle time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use explain::Setting;

    #[test]
    fn variables_that_differ_are_said() {
        let trace = |value: Option<&str>| {
            let setting = |value: &str| Setting { name: "V", value: Some(value.to_owned()), processes: 1 };
            Summary { settings: value.map(setting).into_iter().collect(), ..Summary::default() }
        };
        let said = |before, after| other_settings([Some(&trace(before)), Some(&trace(after))]);
        assert_eq!(said(Some("1"), Some("2")), ["V is 1 before, 2 after: the comparison is of this, too"]);
        assert_eq!(
            said(None, Some("2")),
            ["V is not stated before, 2 after: the comparison is of this, too"]
        );
        assert_eq!(said(Some("2"), Some("2")), Vec::<String>::new());
        assert_eq!(said(None, None), Vec::<String>::new());
    }
}
