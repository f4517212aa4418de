//! A finding with all that is known of it.

use super::applied::Applied;
use super::{gain, phrases};
use crate::document::{Block, Document, Fit, Form, Line, Paragraph};
use crate::layout::{cut, elide, width};
use crate::place::below;
use crate::style::Role;
use crate::units;
use explain::{About, Confidence, Explanation, Finding, Fix, Nature, Party, Place};
use std::collections::HashMap;

/// Columns before a field's label.
pub(super) const INDENT: usize = 4;
/// Columns before a field's text.
pub(super) const HANGING: usize = 15;
/// Most lines of evidence: longer evidence, with a kernel's name in it, is cut in the middle.
const LINES: usize = 3;
/// Most places that text lists; the others are only counted.
const PLACES: usize = 3;

/// The findings of an explanation as they are written.
pub(super) struct Full<'a> {
    explanation: &'a Explanation,
    form: Form,
    /// Whether Markdown has the lines that apply fixes.
    all: bool,
    knows_costs: bool,
    /// The id of the finding that printed each fix in full.
    told: HashMap<Fix, &'a str>,
}

impl<'a> Full<'a> {
    pub fn new(explanation: &'a Explanation, form: Form, all: bool) -> Full<'a> {
        let knows_costs = crate::verdict::knows_costs(explanation);
        Full { explanation, form, all, knows_costs, told: HashMap::new() }
    }

    /// The finding: its sentence, its fields and its fixes.
    pub fn finding(&mut self, finding: &'a Finding) -> Document {
        let many_processes = self.explanation.trace.processes > 1;
        let sentence = phrases::sentence(finding, many_processes);
        let mut document = Document::new(self.form);
        match self.form {
            Form::Text(page) => {
                document.push(headline(finding, with_amount(&sentence, &phrases::amount(finding))));
                self.fields(&mut document, finding, page.columns - HANGING);
                document.extend(self.fixes(finding));
            }
            Form::Markdown => {
                document.push(Paragraph::heading(2, format!("{}: {sentence}", finding.id)));
                self.items(&mut document, finding);
                document.extend(self.fix_items(finding));
            }
        }
        document
    }

    /// The fields of text, whose texts have so many columns.
    fn fields(&self, document: &mut Document, finding: &Finding, room: usize) {
        let many_processes = self.explanation.trace.processes > 1;
        if self.knows_costs {
            document.extend(field("costs", phrases::cost(finding)));
        }
        let holders = finding.holder.iter().map(|holder| ("waits for", holder));
        for (label, party) in holders.chain(finding.or.iter().map(|other| ("or", other))) {
            document.extend(field(label, phrases::party(party, many_processes, room)));
            let at = || Paragraph::new(format!("at {}", list(&party.places))).indented(HANGING);
            document.extend((!party.places.is_empty()).then(at));
        }
        document.extend(field("chain", phrases::chain(finding)));
        let because = elide(&phrases::because(finding), LINES * room);
        if is_unknown(finding) {
            document.extend(field("why", because));
        } else {
            let colon = if because.is_empty() { "" } else { ": " };
            document.extend(field("evidence", format!("{}{colon}{because}", finding.evidence.id())));
            document.extend(field("why", finding.why.to_owned()));
        }
        if finding.count > 1 || is_unknown(finding) {
            document.extend(field("longest", phrases::examples(finding)));
        }
        document.extend(field("where", format!("{}{}", list(&finding.places), below(finding))));
        for (at, row) in phrases::tree(finding).iter().enumerate() {
            let row = cut(row, room);
            document.extend(match at {
                0 => field("below", row),
                _ => Some(Paragraph::new(row).indented(HANGING).fit(Fit::Stay)),
            });
        }
    }

    /// The fields of Markdown, with all places.
    fn items(&self, document: &mut Document, finding: &Finding) {
        let many_processes = self.explanation.trace.processes > 1;
        let places = |places: &[Place]| places.iter().map(phrases::place).collect::<Vec<_>>().join("; ");
        let party = |party: &Party| {
            let at = places(&party.places);
            let at = if at.is_empty() { at } else { format!(", at {at}") };
            phrases::party(party, many_processes, usize::MAX) + &at
        };
        document.extend(finding.holder.as_ref().and_then(|holder| field("waits for", party(holder))));
        document.extend(finding.or.iter().filter_map(|other| field("or", party(other))));
        document.extend(field("evidence", phrases::because(finding)));
        document.extend(field("why", finding.why.to_owned()));
        document.extend(field("longest", phrases::examples(finding)));
        document.extend(field("where", format!("{}{}", places(&finding.places), below(finding))));
    }

    /// The fixes of text. Findings of one cause have the same: each is printed in full only once.
    fn fixes(&mut self, finding: &'a Finding) -> Vec<Block> {
        let widest = finding.fixes.iter().map(|fix| width(fix.id)).max().unwrap_or(0);
        let column = (widest + 2).max(16);
        let mut blocks = Vec::new();
        for (at, fix) in finding.fixes.iter().enumerate() {
            let label = if at == 0 { "fix" } else { "" };
            let named = |text: String| {
                let item = Paragraph::item(text).label(label, Some(Role::Dim), HANGING - INDENT);
                item.label(fix.id, Some(Role::Remedy), column).indented(INDENT).into()
            };
            let applied = Applied::of(self.explanation, finding, fix);
            if let Some(before) = self.told.get(fix) {
                blocks.push(named(format!("as in {before}")));
                blocks.extend(applied.filter(|applied| applied.source.is_some()).as_ref().and_then(own_line));
                continue;
            }
            self.told.insert(*fix, &finding.id);
            blocks.push(named(fix.text.to_owned()));
            let gain = self.explanation.gains.of(fix).map_or_else(String::new, gain::gain);
            let more = [Line::from(gain), Line::of(Role::Dim, fix.safety)].into_iter();
            let more = more.filter(|line| !line.is_empty());
            blocks.extend(more.map(|line| Paragraph::new(line).indented(HANGING + column).into()));
            blocks.extend(applied.as_ref().and_then(own_line));
            blocks.extend(applied.as_ref().map(code));
        }
        blocks
    }

    /// The fixes of Markdown as a list within the list.
    fn fix_items(&self, finding: &Finding) -> Vec<Block> {
        let mut blocks = Vec::new();
        blocks.extend(
            (!finding.fixes.is_empty()).then(|| Paragraph::item(Line::of(Role::Strong, "fix")).into()),
        );
        for fix in &finding.fixes {
            let mut line = Line::of(Role::Remedy, fix.id).and(format!(": {}", fix.text));
            if let Some(gain) = self.explanation.gains.of(fix) {
                line = line.and("; ").with(Role::Strong, gain::gain(gain));
            }
            if !fix.safety.is_empty() {
                line = line.and("; ").with(Role::Dim, fix.safety);
            }
            blocks.push(Paragraph::item(line).within(1).into());
            if let Some(applied) = Applied::of(self.explanation, finding, fix).filter(|_| self.all) {
                blocks.extend(applied.heading().map(|at| Paragraph::new(at).within(2).into()));
                blocks.push(code(&applied));
            }
        }
        blocks
    }
}

/// A label and its text; nothing if the text is empty.
pub(super) fn field(label: &str, text: String) -> Option<Paragraph> {
    let item = |text| Paragraph::item(text).label(label, Some(Role::Dim), HANGING - INDENT).indented(INDENT);
    (!text.is_empty()).then(|| item(text))
}

/// The id and a line, with the cause and the confidence to its right.
pub(super) fn headline(finding: &Finding, line: Line) -> Paragraph {
    let role = match (About::of(finding.cause).nature, finding.confidence) {
        (Nature::Unknown, _) => Role::Dim,
        (_, Confidence::Certain) => Role::Certain,
        (_, Confidence::Likely | Confidence::Possible) => Role::Unsure,
    };
    let id = width(&finding.id);
    let after_id = id.max(INDENT - 2) + 2 - id;
    let line = Paragraph::new(line).label(&finding.id, Some(Role::Strong), id).label("", None, after_id);
    line.right(role, phrases::verdict(finding))
}

/// The sentence with its amount in bold: the first occurrence, as a thread may have an amount as its name.
fn with_amount(sentence: &str, amount: &str) -> Line {
    match sentence.split_once(amount) {
        Some((before, after)) => Line::from(before).with(Role::Strong, amount).and(after),
        None => Line::from(sentence),
    }
}

/// The program's own line where a fix applies, or only the place.
fn own_line(applied: &Applied<'_>) -> Option<Block> {
    let line = |at| Paragraph::new(Line::of(Role::Dim, at)).indented(HANGING).fit(Fit::Cut);
    Some(line(applied.heading()?).into())
}

/// The lines that apply a fix.
fn code(applied: &Applied<'_>) -> Block {
    Block::Code { language: applied.form.language(), code: applied.form.code.to_owned(), indent: HANGING }
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
