//! The catalogue of causes, as text, JSON and Markdown.

use crate::document::{Block, Document, Form, Line, Paragraph};
use crate::style::Role;
use explain::{About, Cause, Evidence, Fix, OverlapRule};
use serde::Serialize;

/// A cause of lost host time, or of lost overlap on a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A cause of lost host time.
    Cause(Cause),
    /// A cause of lost overlap of copies and kernels.
    Overlap(OverlapRule),
}

/// The form of an entry in JSON.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    of: &'static str,
    meaning: &'static str,
    evidence: Vec<Evidence>,
    fixes: &'static [Fix],
}

impl Entry {
    /// Every entry in the order of the registries.
    pub fn all() -> Vec<Entry> {
        let causes = Cause::ALL.iter().copied().map(Entry::Cause);
        causes.chain(OverlapRule::ALL.iter().copied().map(Entry::Overlap)).collect()
    }

    /// The name in every output.
    pub fn id(self) -> &'static str {
        self.row().id
    }

    fn row(self) -> Row {
        match self {
            Entry::Cause(cause) => {
                let about = About::of(cause);
                let (evidence, fixes) = (about.evidence.to_vec(), about.fixes);
                Row { id: cause.id(), of: "host-time", meaning: about.meaning, evidence, fixes }
            }
            Entry::Overlap(rule) => {
                let (evidence, fixes) = (vec![rule.evidence()], &[] as &[Fix]);
                Row { id: rule.id(), of: "overlap", meaning: rule.meaning(), evidence, fixes }
            }
        }
    }
}

/// One table of the causes of lost host time, and one of the causes of lost overlap.
fn markdown(entries: &[Entry]) -> String {
    let mut text = String::new();
    for (of, title) in [("host-time", "cause"), ("overlap", "overlap lost to")] {
        let rows: Vec<_> = entries.iter().map(|entry| entry.row()).filter(|row| row.of == of).collect();
        if !rows.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}| {title} | meaning | evidence | fixes |\n|---|---|---|---|\n"));
            rows.iter().for_each(|row| text.push_str(&markdown_row(row)));
        }
    }
    text
}

fn markdown_row(row: &Row) -> String {
    let evidence: Vec<_> = row.evidence.iter().map(|evidence| evidence.id()).collect();
    let mut fixes: Vec<_> = row.fixes.iter().map(|fix| format!("`{}`", fix.id)).collect();
    let mut known = std::collections::BTreeSet::new();
    fixes.retain(|fix| known.insert(fix.clone()));
    format!("| `{}` | {} | {} | {} |\n", row.id, row.meaning, evidence.join(", "), fixes.join(", "))
}

/// The entries as one JSON array.
pub fn json(entries: &[Entry]) -> String {
    let documents: Vec<_> = entries.iter().map(|entry| entry.row()).collect();
    crate::json_array("holdup/causes/1", &documents)
}

/// Columns before an entry's text, and of the labels after them.
const INDENT: usize = 4;
const LABEL: usize = 11;

/// The entries: paragraphs in text, tables in Markdown.
pub fn document(entries: &[Entry], form: Form) -> Document {
    let mut document = Document::new(form);
    if document.is_markdown() {
        document.push(Block::Drawn(markdown(entries)));
        return document;
    }
    for (at, entry) in entries.iter().enumerate() {
        document.extend((at > 0).then_some(Block::Gap));
        let row = entry.row();
        document.push(Paragraph::new(Line::of(Role::Strong, row.id)));
        document.push(Paragraph::new(row.meaning).indented(INDENT));
        let evidence = row.evidence.iter().map(|one| format!("{}: {}", one.id(), one.meaning())).collect();
        let fixes = row.fixes.iter().map(|fix| format!("{}: {}; {}", fix.id, fix.text, fix.safety)).collect();
        for (label, items) in [("evidence", evidence), ("fix", fixes)] as [(&str, Vec<String>); 2] {
            document.extend(items.into_iter().enumerate().map(|(at, item)| {
                let label = if at == 0 { label } else { "" };
                Paragraph::item(item).label(label, Some(Role::Dim), LABEL).indented(INDENT)
            }));
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_a_unique_name_a_meaning_and_evidence() {
        let all = Entry::all();
        // A name is unique among the causes of one kind.
        let rows = all.iter().map(|entry| entry.row());
        let names: std::collections::BTreeSet<_> = rows.map(|row| (row.of, row.id)).collect();
        assert_eq!(names.len(), all.len());
        for row in all.iter().map(|entry| entry.row()) {
            assert!(!row.meaning.is_empty() && !row.meaning.contains('|'), "{}", row.id);
            assert_eq!(row.evidence.is_empty(), row.id == "unexplained", "{}", row.id);
        }
    }
}
