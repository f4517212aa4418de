//! Findings for a terminal.

use super::applied::Applied;
use super::brief::Brief;
use super::{by_size, gain, phrases};
use crate::layout::{cut, elide, hang, width, wrap};
use crate::page::Page;
use crate::style::Role;
use crate::verdict::below;
use crate::{account, failed, header, overlap, ranks, steps, units, verdict};
use explain::{Confidence, Explanation, Finding, Fix, Nature, Overlap, Place, Steps, Summary};
use std::collections::HashMap;

/// Columns before a field's label.
pub(super) const INDENT: usize = 4;
/// Columns before a field's text.
pub(super) const HANGING: usize = 15;
/// Most lines of evidence: longer evidence, with a kernel's name in it, is cut in the middle.
const LINES: usize = 3;
/// Most places that are listed; the others are only counted.
const PLACES: usize = 3;

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
    let knows_costs = super::knows_costs(explanation);
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
    let knows_costs = super::knows_costs(explanation);
    let mut text = String::new();
    let mut told = HashMap::new();
    for finding in findings {
        let (text, told) = (&mut text, &mut told);
        Paragraph { finding, explanation, page, many_processes, knows_costs, text, told }.write();
        text.push('\n');
    }
    text
}

/// One finding that is being written to the page.
struct Paragraph<'a, 'findings> {
    finding: &'findings Finding,
    explanation: &'findings Explanation,
    page: Page,
    many_processes: bool,
    knows_costs: bool,
    text: &'a mut String,
    /// The id of the finding that printed each fix in full.
    told: &'a mut HashMap<Fix, &'findings str>,
}

impl Paragraph<'_, '_> {
    fn write(&mut self) {
        let finding = self.finding;
        self.sentence();
        if self.knows_costs {
            self.field("costs", &phrases::cost(finding));
        }
        if let Some(holder) = &finding.holder {
            self.field(
                "waits for",
                &phrases::party(holder, self.many_processes, self.page.columns - HANGING),
            );
            self.holder_places(&holder.places);
        }
        for other in &finding.or {
            self.field("or", &phrases::party(other, self.many_processes, self.page.columns - HANGING));
            self.holder_places(&other.places);
        }
        self.field("chain", &phrases::chain(finding));
        self.reasons();
        if finding.count > 1 || is_unknown(finding) {
            self.field("longest", &phrases::examples(finding));
        }
        self.places(&finding.places);
        self.tree();
        self.fixes();
    }

    /// Writes the stacks below the first place.
    fn tree(&mut self) {
        for (at, row) in phrases::tree(self.finding).iter().enumerate() {
            let row = cut(row, self.page.columns - HANGING);
            match at {
                0 => self.field("below", &row),
                _ => self.text.push_str(&format!("{:HANGING$}{row}\n", "")),
            }
        }
    }

    /// Writes the evidence and the mechanism; if the cause is unknown, the reason for that.
    fn reasons(&mut self) {
        let finding = self.finding;
        let because = elide(&phrases::because(finding), LINES * (self.page.columns - HANGING));
        if is_unknown(finding) {
            return self.field("why", &because);
        }
        let colon = if because.is_empty() { "" } else { ": " };
        self.field("evidence", &format!("{}{colon}{because}", finding.evidence.id()));
        self.field("why", finding.why);
    }

    /// Writes the sentence, with the cause and the confidence to its right.
    fn sentence(&mut self) {
        let (finding, style) = (self.finding, self.page.style);
        let verdict_width = width(&phrases::verdict(finding));
        let indent = width(&finding.id).max(INDENT - 2) + 2;
        let room = self.page.columns.saturating_sub(indent + verdict_width + 2);
        let lines = wrap(&phrases::sentence(finding, self.many_processes), room);
        let amount = phrases::amount(finding);
        for (at, line) in lines.iter().enumerate() {
            let painted = line.replacen(&amount, &style.paint(Role::Strong, &amount), 1);
            if at > 0 {
                self.text.push_str(&format!("{:indent$}{painted}\n", ""));
                continue;
            }
            let gap = self.page.columns.saturating_sub(indent + width(line) + verdict_width);
            let verdict = painted_verdict(finding, self.page);
            let id = style.paint(Role::Strong, &finding.id);
            let after_id = indent - width(&finding.id);
            self.text.push_str(&format!("{id}{:after_id$}{painted}{:gap$}{verdict}\n", "", ""));
        }
    }

    /// Writes a label and its text; nothing if the text is empty.
    fn field(&mut self, label: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let label = format!("{label:<width$}", width = HANGING - INDENT);
        let label = self.page.style.paint(Role::Dim, &label);
        for (at, line) in wrap(text, self.page.columns - HANGING).iter().enumerate() {
            match at {
                0 => self.text.push_str(&format!("{:INDENT$}{label}{line}\n", "")),
                _ => self.text.push_str(&format!("{:HANGING$}{line}\n", "")),
            }
        }
    }

    fn places(&mut self, places: &[Place]) {
        self.field("where", &format!("{}{}", list(places), below(self.finding)));
    }

    fn holder_places(&mut self, places: &[Place]) {
        if !places.is_empty() {
            for line in wrap(&format!("at {}", list(places)), self.page.columns - HANGING) {
                self.text.push_str(&format!("{:HANGING$}{line}\n", ""));
            }
        }
    }

    fn fixes(&mut self) {
        let widest = self.finding.fixes.iter().map(|fix| width(fix.id)).max().unwrap_or(0);
        let column = (widest + 2).max(16);
        let hanging = HANGING + column;
        for (at, fix) in self.finding.fixes.iter().enumerate() {
            let style = self.page.style;
            let label = format!("{:<width$}", if at == 0 { "fix" } else { "" }, width = HANGING - INDENT);
            let id = format!("{:<column$}", fix.id);
            let room = self.page.columns - hanging;
            let (label, id) = (style.paint(Role::Dim, &label), style.paint(Role::Remedy, &id));
            // Findings of one cause have the same fixes: each fix is printed in full only once.
            if let Some(before) = self.told.get(fix) {
                self.text.push_str(&format!("{:INDENT$}{label}{id}as in {before}\n", ""));
                let applied = Applied::of(self.explanation, self.finding, fix);
                applied.filter(|applied| applied.source.is_some()).iter().for_each(|one| self.own_line(one));
                continue;
            }
            self.told.insert(*fix, &self.finding.id);
            for (at, line) in wrap(fix.text, room).iter().enumerate() {
                match at {
                    0 => self.text.push_str(&format!("{:INDENT$}{label}{id}{line}\n", "")),
                    _ => self.text.push_str(&format!("{:hanging$}{line}\n", "")),
                }
            }
            let gain = self.explanation.gains.of(fix).map_or_else(String::new, gain::gain);
            for line in wrap(&gain, room).iter().filter(|line| !line.is_empty()) {
                self.text.push_str(&format!("{:hanging$}{line}\n", ""));
            }
            for line in wrap(fix.safety, room).iter().filter(|line| !line.is_empty()) {
                self.text.push_str(&format!("{:hanging$}{}\n", "", style.paint(Role::Dim, line)));
            }
            self.form(fix);
        }
    }

    /// The program's own line where a fix applies, or only the place.
    fn own_line(&mut self, applied: &Applied<'_>) {
        if let Some(at) = applied.heading() {
            let at = cut(&at, self.page.columns - HANGING);
            self.text.push_str(&format!("{:HANGING$}{}\n", "", self.page.style.paint(Role::Dim, &at)));
        }
    }

    /// The lines that apply a fix, below the program's own line.
    fn form(&mut self, fix: &Fix) {
        let Some(applied) = Applied::of(self.explanation, self.finding, fix) else { return };
        self.own_line(&applied);
        for line in applied.form.code.lines() {
            let line = format!("{:HANGING$}{line}", "");
            self.text.push_str(&format!("{}\n", line.trim_end()));
        }
    }
}

/// The cause and the confidence in the colour of its certainty.
pub(super) fn painted_verdict(finding: &Finding, page: Page) -> String {
    let role = match (finding.cause.about().nature, finding.confidence) {
        (Nature::Unknown, _) => Role::Dim,
        (_, Confidence::Certain) => Role::Certain,
        (_, Confidence::Likely | Confidence::Possible) => Role::Unsure,
    };
    page.style.paint(role, &phrases::verdict(finding))
}

pub(super) fn is_unknown(finding: &Finding) -> bool {
    finding.cause.about().nature == Nature::Unknown
}

/// The first places, and how many more there are.
pub(super) fn list(places: &[Place]) -> String {
    let mut named: Vec<String> = places.iter().take(PLACES).map(phrases::place).collect();
    if places.len() > PLACES {
        let more = places.len() - PLACES;
        named.push(format!("and {}", units::counted(more as u64, "more place", "more places")));
    }
    named.join("; ")
}
