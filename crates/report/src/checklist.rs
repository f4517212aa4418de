//! Checklists: items that were checked, with their state.

use crate::escape::visible;
use crate::layout::wrap;
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
pub fn checklist(items: &[Item<'_>], page: Page) -> String {
    const MARKS: usize = 9;
    let widest = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    let hanging = MARKS + widest + 2;
    let room = page.columns.saturating_sub(hanging);
    let mut text = String::new();
    for item in items {
        let (word, role) = match item.mark {
            Mark::Good => ("ok", Role::Remedy),
            Mark::Lacking => ("warn", Role::Unsure),
            Mark::Bad => ("missing", Role::Certain),
        };
        let found = item.found.iter().flat_map(|line| wrap(&visible(line), room));
        let mut first = format!(
            "{}{:gap$}{:<name$}",
            page.style.paint(role, word),
            "",
            item.name,
            gap = MARKS - word.len(),
            name = widest + 2
        );
        for line in found {
            text.push_str(&format!("{first}{line}\n"));
            first = format!("{:hanging$}", "");
        }
        for line in item.remedy.iter().flat_map(|remedy| wrap(&visible(remedy), room)) {
            text.push_str(&format!("{:hanging$}{}\n", "", page.style.paint(Role::Strong, &line)));
        }
    }
    text
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
        assert_eq!(text, expected);
    }
}
