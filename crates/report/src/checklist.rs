//! Checklists: items that were checked, with their state.

use crate::document::{Document, Form, Line, Paragraph};
use crate::page::Page;
use crate::style::Role;

/// The state of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Good as it is.
    Good,
    /// Less than it could be.
    Lacking,
    /// Missing, although it is needed.
    Bad,
}

/// One item that was checked.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// The state.
    pub mark: Mark,
    /// The name.
    pub name: &'a str,
    /// The findings, one per line.
    pub found: &'a [String],
    /// The remedy.
    pub remedy: Option<&'a str>,
}

/// The items one below the other: the state, the name, what was found, and the remedy.
pub fn checklist(items: &[Item<'_>], page: Page) -> Document {
    const MARKS: usize = 9;
    let name = items.iter().map(|item| item.name.len()).max().unwrap_or(0) + 2;
    let mut document = Document::new(Form::Text(page));
    for item in items {
        let (word, role) = match item.mark {
            Mark::Good => ("ok", Role::Remedy),
            Mark::Lacking => ("warn", Role::Unsure),
            Mark::Bad => ("missing", Role::Certain),
        };
        document.extend(item.found.iter().enumerate().map(|(at, line)| match at {
            0 => {
                let marked = Paragraph::item(line).label(word, Some(role), word.len());
                marked.label("", None, MARKS - word.len()).label(item.name, None, name)
            }
            _ => Paragraph::new(line).indented(MARKS + name),
        }));
        let remedy = |remedy| Paragraph::new(Line::of(Role::Strong, remedy)).indented(MARKS + name);
        document.extend(item.remedy.map(remedy));
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_starts_at_its_column() {
        let found = ["/a".to_owned(), "evil \x1b[31m".to_owned()];
        let item = |mark, name, remedy| Item { mark, name, found: &found, remedy };
        let items = [item(Mark::Good, "driver", None), item(Mark::Bad, "CUPTI", Some("install it"))];
        let text = checklist(&items, Page::default());
        let expected = "ok       driver  /a\n                 evil \\u{1b}[31m\n\
                        missing  CUPTI   /a\n                 evil \\u{1b}[31m\n                 install it\n";
        assert_eq!(text.to_string(), expected);
    }
}
