//! Judgements of gates, in one line for each gate, and in one line for each reason.

use crate::document::{Document, Fit, Form, Line, Paragraph, Table};
use crate::escape::visible;
use crate::explanation::place_text;
use crate::style::Role;
use crate::{steps, units};
use explain::diff::Diff;
use explain::gate::{Counted, Doubt, Gate, GateState, GateUnit, Judgement, Kind, Red};

/// A reason of a gate that is beyond its limit.
pub struct Reason<'a> {
    /// The gate.
    pub gate: &'a Gate,
    /// Excess beyond the limit there; `None` for a time, which has no place.
    pub red: Option<&'a Red>,
    /// The reason, one line.
    pub line: String,
}

/// The reasons of all gates that are beyond their limits.
pub fn reasons(diff: &Diff) -> Vec<Reason<'_>> {
    let Some(judgement) = &diff.gate else { return Vec::new() };
    let exceeded = judgement.gates.iter().filter(|gate| gate.state == GateState::Exceeded);
    let of = |gate| -> Vec<Reason<'_>> {
        let reason = |red: Option<&'_ Red>| line(diff, judgement, gate, red);
        match gate.reds.is_empty() {
            true => vec![Reason { gate, red: None, line: reason(None) }],
            false => {
                gate.reds.iter().map(|red| Reason { gate, red: Some(red), line: reason(Some(red)) }).collect()
            }
        }
    };
    exceeded.flat_map(of).collect()
}

/// `synchronizations: 1.10 per step, 0.10 before: hidden-sync, +1.00 at train.py:52 in train, in cudaStreamSynchronize`
fn line(diff: &Diff, judgement: &Judgement, gate: &Gate, red: Option<&Red>) -> String {
    if gate.gate == Kind::Time {
        return time(diff, gate);
    }
    let (before, after) = (figure(gate, gate.before.median), figure(gate, gate.after.median));
    let head = format!("{}: {after}{}, {before} before", gate.gate.id(), per(judgement, gate));
    let Some(red) = red else { return head };
    let place =
        red.place.as_ref().map(|place| format!("at {}", visible(&place_text(place)))).unwrap_or_default();
    let call = if red.call.is_empty() { String::new() } else { format!("in {}", visible(&red.call)) };
    let site = [place, call].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    format!("{head}: {}, +{} {site}", red.cause.id(), figure(gate, red.more)).trim_end().to_owned()
}

fn time(diff: &Diff, gate: &Gate) -> String {
    let (judged, change) = super::judged(diff);
    let limit = units::duration(gate.limit as i64);
    format!("time: {}, over the limit of {limit}", super::reason(judged, change))
}

/// Why each inconclusive gate is so, one line each.
pub fn doubts(diff: &Diff) -> Vec<String> {
    let gates = diff.gate.iter().flat_map(|judgement| &judgement.gates);
    let doubt = |gate: &Gate| Some(format!("{}: inconclusive: {}", gate.gate.id(), why(gate, gate.doubt?)));
    gates.filter_map(doubt).collect()
}

fn why(gate: &Gate, doubt: Doubt) -> String {
    let range = |level: explain::gate::Level| {
        format!("{} to {}", figure(gate, level.least), figure(gate, level.most))
    };
    match doubt {
        Doubt::Spread => {
            format!(
                "beyond the limit, and within the spread: {} before, {} after",
                range(gate.before),
                range(gate.after)
            )
        }
        Doubt::OtherGpu => String::from("recorded on different GPUs"),
        Doubt::OtherRecords => String::from("recorded by different tools, or with different records"),
        Doubt::Refused => {
            String::from("records were lost, or clocks do not fit: the causes of idle time are unknown")
        }
        Doubt::OtherSteps => String::from("the traces do not have the same steps"),
    }
}

/// A figure with its unit, as far as the unit is not the step.
fn figure(gate: &Gate, value: f64) -> String {
    match gate.unit {
        GateUnit::PerStep => format!("{value:.2}"),
        GateUnit::PerLaunch => format!("{:.2}", 100.0 * value),
        GateUnit::Share => format!("{:.1} %", 100.0 * value),
        GateUnit::Ns => units::duration(value as i64),
    }
}

/// Unit of work or time to which the figures relate.
fn per(judgement: &Judgement, gate: &Gate) -> &'static str {
    match (gate.unit, &judgement.steps) {
        (GateUnit::PerStep, _) => " per step",
        (GateUnit::PerLaunch, _) => " per 100 launches",
        (GateUnit::Share, _) if gate.gate == Kind::GpuHeldBack => " of the GPU's time",
        (GateUnit::Share, Some(_)) => " of a step",
        (GateUnit::Share, None) => " of the GPU's time",
        (GateUnit::Ns, _) => "",
    }
}

/// Name of the figure that a gate judges, for people.
pub(super) fn title(gate: &Gate) -> &'static str {
    match gate.gate {
        Kind::Count(Counted::Synchronizations) => "synchronizations",
        Kind::Count(Counted::PageableCopies) => "copies of pageable memory",
        Kind::Count(Counted::Copies) => "copies",
        Kind::Count(Counted::Allocations) => "allocations and frees",
        Kind::Count(Counted::Launches) => "launches",
        Kind::FirstUses => "first uses after the first steps",
        Kind::GpuIdle => "GPU idle",
        Kind::GpuHeldBack => "GPU held back",
        Kind::Time => "time",
    }
}

/// `Gate exceeded: steps from one sgemm to the next`.
fn verdict(judgement: &Judgement) -> String {
    let state = match judgement.state {
        GateState::Exceeded => "Gate exceeded",
        GateState::Passed => "Gate passed",
        GateState::Inconclusive => "Gate passed, in part inconclusive",
    };
    match &judgement.steps {
        Some(of) => format!("{state}: steps {}", steps::name(of.source, &of.name)),
        None => state.to_owned(),
    }
}

/// The gates; nothing without.
pub(super) fn document(diff: &Diff, form: Form) -> Document {
    let mut document = Document::new(form);
    let Some(judgement) = &diff.gate else { return document };
    document.gap();
    document.push(Paragraph::heading(1, verdict(judgement)).fit(Fit::Stay));
    let title = |gate: &Gate| format!("{}{}", title(gate), per(judgement, gate));
    if document.is_markdown() {
        let reasons = reasons(diff).into_iter().map(|reason| Line::of(Role::Strong, reason.line));
        document.extend(reasons.chain(doubts(diff).into_iter().map(Line::from)).map(Paragraph::item));
        document.push(
            Table::of(&judgement.gates)
                .left("Gate", title)
                .right("Before", |gate| figure(gate, gate.before.median))
                .right("After", |gate| figure(gate, gate.after.median))
                .right("Limit", |gate| figure(gate, gate.limit))
                .left("State", |gate| gate.state.id())
                .table(),
        );
    } else {
        document.extend(judgement.gates.iter().map(|gate| {
            let [before, after, limit] =
                [gate.before.median, gate.after.median, gate.limit].map(|of| figure(gate, of));
            let line = format!("{}: {after}, {before} before, limit {limit}", title(gate));
            Paragraph::item(line).label(gate.state.id(), None, 13).indented(2).fit(Fit::Stay)
        }));
    }
    document
}
