//! An explanation as a document.

use super::brief::Brief;
use super::full::Full;
use super::size::by_size;
use super::{gain, phrases};
use crate::document::{Block, Document, Fit, Form, Line, Paragraph, Table};
use crate::header::{self, Extent};
use crate::layout::width;
use crate::page::Page;
use crate::style::Role;
use crate::{account, failed, overlap, ranks, steps, units, verdict};
use explain::{About, Explanation, Finding, Nature, Overlap, Steps};

/// Columns of the longest remark that is printed in words.
const ONLY: usize = 150;

/// Lines of the first screen.
const SCREEN: usize = 25;

/// An explanation; with `all` every finding in full. Text without `all` is a first screen.
pub fn document(explanation: &Explanation, form: Form, all: bool) -> Document {
    match form {
        Form::Text(page) if !all => first_screen(explanation, page),
        Form::Text(_) | Form::Markdown => whole(explanation, form, all),
    }
}

/// The full explanation.
fn whole(explanation: &Explanation, form: Form, all: bool) -> Document {
    let (large, small) = by_size(explanation, all);
    let mut document = Document::new(form);
    if document.is_markdown() {
        document.push(Paragraph::heading(1, format!("What holds up {}", explanation.trace.path)));
    }
    document.extend(first_lines(explanation, form, Extent::Versions));
    if let Form::Text(page) = form {
        document.push(Block::Drawn(account::text(&explanation.accounts, page)));
        document.extend(ranks::blocks(&explanation.accounts, true));
    }
    document.extend(steps::document(explanation.steps.as_ref(), explanation.accounts.refused, form, false));
    if document.is_markdown() && !large.is_empty() {
        document.push(overview(&large));
    }
    let mut full = Full::new(explanation, form, all);
    for finding in &large {
        document.extend(full.finding(finding));
        document.gap();
    }
    document.extend(phrases::folded(&small).map(Paragraph::new));
    for told in explanation.overlap.iter().filter(|overlap| overlap::is_worth_telling(overlap, all)) {
        document.extend(overlap::document(told, form, all));
        document.gap();
    }
    let conclusion = phrases::conclusion(explanation);
    let failed = failed::line(&explanation.failed_calls).map(Paragraph::remark);
    let absent = gain::absent(explanation, &large).map(Paragraph::new);
    if document.is_markdown() {
        document.push(Paragraph::new(Line::of(Role::Strong, conclusion.join("; "))));
        document.extend(absent.into_iter().chain(failed));
    } else {
        document.extend(conclusion.into_iter().map(Paragraph::new).chain(failed).chain(absent));
    }
    document.extend(header::remarks(&explanation.trace).into_iter().map(Paragraph::remark));
    document
}

fn overview(findings: &[&Finding]) -> Table {
    let confidence = |finding: &&Finding| match About::of(finding.cause).nature {
        Nature::Unknown => "",
        Nature::Lost | Nature::Asked => finding.confidence.id(),
    };
    Table::of(findings)
        .left("Finding", |finding| finding.id.clone())
        .right("Lost", |finding| units::duration(finding.lost_ns))
        .right("Of its time", |finding| units::percent(finding.share))
        .right("Calls", |finding| units::count(finding.count))
        .right("Longest", |finding| units::duration(finding.max_ns))
        .left("Call", |finding| phrases::activity(&finding.waiter))
        .left("Cause", |finding| finding.cause.id())
        .left("Evidence", |finding| finding.evidence.id())
        .left("Confidence", confidence)
        .table()
}

/// The first screen, in about [`SCREEN`] lines: as many findings as there is room for, and at least one, for which bars of threads,
/// slow steps, all but the first rank that was late, and the course of the busy time make room.
fn first_screen(explanation: &Explanation, page: Page) -> Document {
    let (large, small) = by_size(explanation, false);
    let (accounts, form) = (&explanation.accounts, Form::Text(page));
    let end = last_lines(explanation, &large, form);
    let findings: Vec<Document> =
        large.iter().map(|finding| briefly(explanation, &[finding], page)).collect();
    let lines = |document: &Document| document.to_string().lines().count();
    let needed = lines(&end) + findings.first().map_or(0, lines) + 1;
    let before = |threads: usize, steps: Option<&Steps>, has_room: bool, is_over_time: bool| {
        let mut document = first_lines(explanation, form, Extent::Facts);
        document.push(Block::Drawn(account::with_threads(accounts, page, threads, is_over_time)));
        document.extend(ranks::blocks(accounts, has_room));
        document.extend(steps::document(steps, accounts.refused, form, accounts.steady.is_some()));
        document
    };
    let steps = explanation.steps.as_ref();
    let with_steps = (0..=account::THREADS).rev().map(|threads| before(threads, steps, true, true));
    let without = [true, false].into_iter().map(|has_room| before(0, None, has_room, true));
    let mut fitting = with_steps.chain(without).filter(|document| lines(document) + needed <= SCREEN);
    let mut document = fitting.next().unwrap_or_else(|| before(0, None, false, false));
    let mut left = SCREEN.saturating_sub(lines(&document) + lines(&end));
    let mut told = 0;
    for finding in findings {
        let needed = lines(&finding);
        if told > 0 && left <= needed {
            break;
        }
        (left, told) = (left.saturating_sub(needed), told + 1);
        document.extend(finding);
    }
    let folded: Vec<&Finding> = large[told..].iter().chain(&small).copied().collect();
    let folded = phrases::folded(&folded).map(|folded| format!("{folded} (--all shows them)"));
    document.extend(folded.map(Paragraph::new));
    document.extend(end);
    document
}

/// The lines after the findings: the overlap of each GPU, failed calls, remarks, missing gains; and the conclusion if there are no findings.
fn last_lines(explanation: &Explanation, large: &[&Finding], form: Form) -> Document {
    let span = |device: i64| {
        let gpu = explanation.accounts.gpus.iter().find(|gpu| gpu.device == device);
        gpu.map_or(0, |gpu| gpu.span_ns)
    };
    let is_worth = |overlap: &&Overlap| {
        overlap::is_worth_telling(overlap, false)
            && overlap.missed_ns() as f64 >= span(overlap.device) as f64 * verdict::SMALL
    };
    let overlaps = explanation.overlap.iter().filter(is_worth);
    let mut lines: Vec<String> = overlaps.map(overlap::brief).collect();
    lines.extend(failed::brief(&explanation.failed_calls));
    lines.extend(remarks(explanation));
    lines.extend(gain::absent(explanation, large));
    if explanation.findings.is_empty() {
        lines.extend(phrases::conclusion(explanation));
    }
    let mut document = Document::new(form);
    document.extend(lines.into_iter().map(Paragraph::new));
    document
}

/// `3 remarks (--all shows them)`; a short one alone in words.
fn remarks(explanation: &Explanation) -> Option<String> {
    let remarks = header::remarks(&explanation.trace);
    match remarks.as_slice() {
        [] => None,
        [only] if width(only) <= ONLY => Some(only.clone()),
        several => Some(format!(
            "{} on the recording (--all shows them)",
            units::counted(several.len() as u64, "remark", "remarks")
        )),
    }
}

/// The header and the verdict; in text with an empty line after each.
fn first_lines(explanation: &Explanation, form: Form, extent: Extent) -> Document {
    let mut document = header::document(&explanation.trace, form, extent);
    document.gap();
    match form {
        Form::Text(page) => {
            for (at, line) in verdict::lines(explanation, page.columns).into_iter().enumerate() {
                let line = if at == 0 { Line::of(Role::Strong, line) } else { Line::from(line) };
                document.push(Paragraph::new(line).fit(Fit::Stay));
            }
        }
        Form::Markdown => {
            document.push(Paragraph::new(Line::of(Role::Strong, verdict::verdict(explanation))))
        }
    }
    document.gap();
    document
}

/// Findings of an explanation in a few lines each, an empty line after each.
fn briefly(explanation: &Explanation, findings: &[&Finding], page: Page) -> Document {
    let many_processes = explanation.trace.processes > 1;
    let knows_costs = verdict::knows_costs(explanation);
    let mut document = Document::new(Form::Text(page));
    for finding in findings {
        let gains = &explanation.gains;
        document.extend(Brief { finding, gains, page, many_processes, knows_costs }.paragraphs());
        document.gap();
    }
    document
}

/// The header, the verdict, the first `most` findings, and the command that shows the rest.
pub fn digest(explanation: &Explanation, page: Page, most: usize) -> Document {
    let (large, small) = by_size(explanation, false);
    let mut document = first_lines(explanation, Form::Text(page), Extent::Facts);
    document.extend(briefly(explanation, &large[..most.min(large.len())], page));
    let rest = large.len().saturating_sub(most) + small.len();
    let more = format!("holdup explain {}", explanation.trace.path);
    let more = match rest {
        0 => more,
        _ => format!("{} more: {more}", units::counted(rest as u64, "finding", "findings")),
    };
    let remarks = header::remarks(&explanation.trace);
    let lines = phrases::conclusion(explanation).into_iter().chain(remarks).chain([more]);
    document.extend(lines.map(|line| Paragraph::new(line).hanging(0)));
    document
}
