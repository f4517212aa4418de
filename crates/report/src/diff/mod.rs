//! The difference between traces before and after a change as text, JSON and Markdown, and what a gate judged as JUnit and SARIF.

mod gate;
mod json;
mod junit;
mod lines;
mod markdown;
mod sarif;
mod text;

pub use gate::{Reason, doubts, reasons};
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;
pub use text::text;

use crate::{header, steps, units};
use explain::diff::{Change, Diff, Kept, Lack, Side};
use explain::{StepSource, Summary};

/// A comparison: what was compared, and what differs.
pub struct Comparison {
    /// The traces before the change.
    pub before: Vec<Summary>,
    /// The traces after it.
    pub after: Vec<Summary>,
    /// The difference.
    pub diff: Diff,
}

/// One of several figures by which a change is judged.
#[derive(Clone, Copy)]
pub enum Judged<'a> {
    /// The selected time.
    Wall,
    /// The median step.
    Step(StepSource, &'a str),
}

/// What is judged, and how it changed: the median step if both sides have the same steps, else the selected time.
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

/// What a comparison cannot say, one sentence each.
fn remarks(comparison: &Comparison) -> Vec<String> {
    let mut remarks = Vec::new();
    let source = |side: &[Summary]| side.first().map_or(String::new(), |trace| trace.source_title.clone());
    let (before, after) = (source(&comparison.before), source(&comparison.after));
    if before != after {
        remarks.push(format!("recorded by different tools: {before} before, {after} after"));
    }
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

fn kept(what: Kept) -> &'static str {
    match what {
        Kept::Operations => "GPU operations",
        Kept::Waits => "waits for locks",
        Kept::States => "scheduler's numbers",
        Kept::Samples => "samples",
        Kept::Stacks => "stacks of calls",
        Kept::Ranges => "ranges",
        Kept::IdleCauses => "causes of idle time",
    }
}
