//! A finding with all that is known of it, as a paragraph for a terminal.

use super::applied::Applied;
use super::{gain, phrases};
use crate::layout::{cut, elide, width, wrap};
use crate::page::Page;
use crate::place::below;
use crate::style::Role;
use crate::units;
use explain::{About, Confidence, Explanation, Finding, Fix, Nature, Place};
use std::collections::HashMap;

/// Columns before a field's label.
pub(super) const INDENT: usize = 4;
/// Columns before a field's text.
pub(super) const HANGING: usize = 15;
/// Most lines of evidence: longer evidence, with a kernel's name in it, is cut in the middle.
const LINES: usize = 3;
/// Most places that are listed; the others are only counted.
const PLACES: usize = 3;

/// One finding that is being written to the page.
pub(super) struct Paragraph<'a, 'findings> {
    pub finding: &'findings Finding,
    pub explanation: &'findings Explanation,
    pub page: Page,
    pub many_processes: bool,
    pub knows_costs: bool,
    pub text: &'a mut String,
    /// The id of the finding that printed each fix in full.
    pub told: &'a mut HashMap<Fix, &'findings str>,
}

impl Paragraph<'_, '_> {
    pub fn write(&mut self) {
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
    let role = match (About::of(finding.cause).nature, finding.confidence) {
        (Nature::Unknown, _) => Role::Dim,
        (_, Confidence::Certain) => Role::Certain,
        (_, Confidence::Likely | Confidence::Possible) => Role::Unsure,
    };
    page.style.paint(role, &phrases::verdict(finding))
}

pub(super) fn is_unknown(finding: &Finding) -> bool {
    About::of(finding.cause).nature == Nature::Unknown
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
