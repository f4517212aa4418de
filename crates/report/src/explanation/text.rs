//! Findings for a terminal.

use super::brief::Brief;
use super::paragraph::Paragraph;
use super::size::by_size;
use super::{gain, phrases};
use crate::layout::{hang, width};
use crate::page::Page;
use crate::style::Role;
use crate::{account, failed, header, overlap, ranks, steps, units, verdict};
use explain::{Explanation, Finding, Overlap, Steps, Summary};
use std::collections::HashMap;

/// Columns of the longest remark that is printed in words.
const ONLY: usize = 150;

/// Lines of the first screen.
const SCREEN: usize = 25;

/// An explanation as paragraphs that fit the page; with `all` every finding, in full.
pub fn text(explanation: &Explanation, page: Page, all: bool) -> String {
    if all { whole(explanation, page) } else { first_screen(explanation, page) }
}

/// The full explanation.
fn whole(explanation: &Explanation, page: Page) -> String {
    let findings: Vec<&Finding> = explanation.findings.iter().collect();
    let mut text = first_lines(explanation, page, header::with_versions);
    text.push_str(&account::text(&explanation.accounts, page));
    text.push_str(&ranks::text(&explanation.accounts, page));
    text.push_str(&steps::text(explanation.steps.as_ref(), explanation.accounts.refused, page, false));
    text.push_str(&in_full(explanation, &findings, page));
    for told in explanation.overlap.iter().filter(|overlap| overlap::is_worth_telling(overlap, true)) {
        text.push_str(&overlap::text(told, page, true));
    }
    let mut lines = phrases::conclusion(explanation);
    lines.extend(failed::line(&explanation.failed_calls));
    lines.extend(gain::absent(explanation, &findings));
    lines.extend(header::remarks(&explanation.trace));
    lines.iter().for_each(|line| text.push_str(&hang(line, page.columns)));
    text
}

/// The first screen, in about [`SCREEN`] lines: as many findings as there is room for, and at least one, for which bars of threads,
/// slow steps, all but the first rank that was late, and the course of the busy time make room.
fn first_screen(explanation: &Explanation, page: Page) -> String {
    let (large, small) = by_size(explanation, false);
    let accounts = &explanation.accounts;
    let end = last_lines(explanation, &large, page);
    let findings: Vec<String> = large.iter().map(|finding| briefly(explanation, &[finding], page)).collect();
    let lines = |text: &str| text.lines().count();
    let needed = lines(&end) + findings.first().map_or(0, |first| lines(first)) + 1;
    let is_told = accounts.steady.is_some();
    let before = |threads: usize, steps: Option<&Steps>, ranks: &str, is_over_time: bool| {
        let mut text = first_lines(explanation, page, header::brief);
        text.push_str(&account::with_threads(accounts, page, threads, is_over_time));
        text.push_str(ranks);
        text + &steps::text(steps, accounts.refused, page, is_told)
    };
    let fits = |text: &String| lines(text) + needed <= SCREEN;
    let (ranks, first_rank) = (ranks::text(accounts, page), ranks::brief(accounts, page));
    let steps = explanation.steps.as_ref();
    let with_steps = (0..=account::THREADS).rev().map(|threads| before(threads, steps, &ranks, true));
    let shorter = [(&ranks, true), (&first_rank, true)];
    let without = shorter.into_iter().map(|(ranks, is_over_time)| before(0, None, ranks, is_over_time));
    let mut text =
        with_steps.chain(without).find(fits).unwrap_or_else(|| before(0, None, &first_rank, false));
    let mut left = SCREEN.saturating_sub(lines(&text) + lines(&end));
    let mut told = 0;
    for finding in &findings {
        if told > 0 && left <= lines(finding) {
            break;
        }
        (left, told) = (left.saturating_sub(lines(finding)), told + 1);
        text.push_str(finding);
    }
    let folded: Vec<&Finding> = large[told..].iter().chain(&small).copied().collect();
    text.extend(phrases::folded(&folded).map(|folded| format!("{folded} (--all shows them)\n")));
    text + &end
}

/// The lines after the findings: the overlap of each GPU, failed calls, remarks, missing gains; and the conclusion if there are no findings.
fn last_lines(explanation: &Explanation, large: &[&Finding], page: Page) -> String {
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
    lines.iter().map(|line| hang(line, page.columns)).collect()
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

/// The header, the verdict, and an empty line after each.
pub(super) fn first_lines(
    explanation: &Explanation,
    page: Page,
    header: impl Fn(&Summary, usize) -> String,
) -> String {
    let mut text = header(&explanation.trace, page.columns);
    text.push('\n');
    for (at, line) in verdict::lines(explanation, page.columns).iter().enumerate() {
        let line = if at == 0 { page.style.paint(Role::Strong, line) } else { line.clone() };
        text.push_str(&format!("{line}\n"));
    }
    text.push('\n');
    text
}

/// Findings of an explanation in a few lines each, an empty line after each.
pub(super) fn briefly(explanation: &Explanation, findings: &[&Finding], page: Page) -> String {
    let many_processes = explanation.trace.processes > 1;
    let knows_costs = verdict::knows_costs(explanation);
    let mut text = String::new();
    for finding in findings {
        let gains = &explanation.gains;
        Brief { finding, gains, page, many_processes, knows_costs }.write(&mut text);
        text.push('\n');
    }
    text
}

/// Findings of an explanation with all that is known of them, an empty line after each.
fn in_full(explanation: &Explanation, findings: &[&Finding], page: Page) -> String {
    let many_processes = explanation.trace.processes > 1;
    let knows_costs = verdict::knows_costs(explanation);
    let mut text = String::new();
    let mut told = HashMap::new();
    for finding in findings {
        let (text, told) = (&mut text, &mut told);
        Paragraph { finding, explanation, page, many_processes, knows_costs, text, told }.write();
        text.push('\n');
    }
    text
}
