//! The catalogue of causes, as text, JSON and Markdown.

use crate::layout::wrap;
use crate::page::Page;
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
struct Document {
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
        self.document().id
    }

    fn document(self) -> Document {
        match self {
            Entry::Cause(cause) => {
                let about = About::of(cause);
                let (evidence, fixes) = (about.evidence.to_vec(), about.fixes);
                Document { id: cause.id(), of: "host-time", meaning: about.meaning, evidence, fixes }
            }
            Entry::Overlap(rule) => {
                let (evidence, fixes) = (vec![rule.evidence()], &[] as &[Fix]);
                Document { id: rule.id(), of: "overlap", meaning: rule.meaning(), evidence, fixes }
            }
        }
    }
}

/// One table of the causes of lost host time, and one of the causes of lost overlap.
pub fn markdown(entries: &[Entry]) -> String {
    let mut text = String::new();
    for (of, title) in [("host-time", "cause"), ("overlap", "overlap lost to")] {
        let rows: Vec<_> = entries.iter().map(|entry| entry.document()).filter(|row| row.of == of).collect();
        if !rows.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}| {title} | meaning | evidence | fixes |\n|---|---|---|---|\n"));
            rows.iter().for_each(|row| text.push_str(&markdown_row(row)));
        }
    }
    text
}

fn markdown_row(row: &Document) -> String {
    let evidence: Vec<_> = row.evidence.iter().map(|evidence| evidence.id()).collect();
    let mut fixes: Vec<_> = row.fixes.iter().map(|fix| format!("`{}`", fix.id)).collect();
    let mut known = std::collections::BTreeSet::new();
    fixes.retain(|fix| known.insert(fix.clone()));
    format!("| `{}` | {} | {} | {} |\n", row.id, row.meaning, evidence.join(", "), fixes.join(", "))
}

/// The entries as one JSON array.
pub fn json(entries: &[Entry]) -> String {
    let documents: Vec<_> = entries.iter().map(|entry| entry.document()).collect();
    crate::json_array("holdup/causes/1", &documents)
}

/// Columns before an entry's text.
const INDENT: usize = 4;
/// Columns before the text beside a label.
const HANGING: usize = 15;

/// One paragraph per entry: its meaning, its evidence and its fixes.
pub fn text(entries: &[Entry], page: Page) -> String {
    entries.iter().map(|entry| paragraph(&entry.document(), page)).collect::<Vec<_>>().join("\n")
}

fn paragraph(row: &Document, page: Page) -> String {
    let mut text = format!("{}\n", page.style.paint(Role::Strong, row.id));
    for line in wrap(row.meaning, page.columns - INDENT) {
        text.push_str(&format!("{:INDENT$}{line}\n", ""));
    }
    let evidence = row.evidence.iter().map(|evidence| format!("{}: {}", evidence.id(), evidence.meaning()));
    let fixes = row.fixes.iter().map(|fix| format!("{}: {}; {}", fix.id, fix.text, fix.safety));
    list(&mut text, page, "evidence", evidence);
    list(&mut text, page, "fix", fixes);
    text
}

/// Appends items beside a label, each on its own lines.
fn list(text: &mut String, page: Page, label: &str, items: impl Iterator<Item = String>) {
    for (item, words) in items.enumerate() {
        for (line, words) in wrap(&words, page.columns - HANGING).iter().enumerate() {
            let label = if (item, line) == (0, 0) { label } else { "" };
            let label = page.style.paint(Role::Dim, &format!("{label:<width$}", width = HANGING - INDENT));
            text.push_str(&format!("{:INDENT$}{label}{words}\n", ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_a_unique_name_a_meaning_and_evidence() {
        let all = Entry::all();
        // A name is unique among the causes of one kind.
        let rows = all.iter().map(|entry| entry.document());
        let names: std::collections::BTreeSet<_> = rows.map(|row| (row.of, row.id)).collect();
        assert_eq!(names.len(), all.len());
        for row in all.iter().map(|entry| entry.document()) {
            assert!(!row.meaning.is_empty() && !row.meaning.contains('|'), "{}", row.id);
            assert_eq!(row.evidence.is_empty(), row.id == "unexplained", "{}", row.id);
        }
    }
}
