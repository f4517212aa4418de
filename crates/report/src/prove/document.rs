//! A proof as a document.

use super::Shown;
use super::sentences::{figures, lines, subtitle};
use crate::document::{Document, Fit, Form, Line, Paragraph, Table};
use crate::escape::visible;
use crate::layout::{elide, width};
use crate::page::Page;
use crate::style::Role;
use prove::Side;

/// Columns of titles.
const TITLE: usize = 11;

/// A proof: the commands with their figures, and a list of results, the verdict first.
pub fn document(shown: Shown<'_>, form: Form) -> Document {
    let mut document = Document::new(form);
    match form {
        Form::Text(page) => {
            document.extend(commands(shown, page));
            document.push(Paragraph::new(Line::of(Role::Dim, subtitle(shown))).fit(Fit::Elide));
        }
        Form::Markdown => {
            document.push(Paragraph::heading(1, "Before and after"));
            document.push(table(shown));
            document.push(Paragraph::new(subtitle(shown)));
        }
    }
    document.gap();
    for (at, (title, sentence)) in lines(shown).into_iter().enumerate() {
        let is_strong = at == 0 && !document.is_markdown();
        let line = if is_strong { Line::of(Role::Strong, sentence) } else { Line::from(sentence) };
        document.push(Paragraph::item(line).label(title, None, TITLE).hanging(4));
    }
    document
}

/// A line for each command with its median, least and most, one below the other.
fn commands(shown: Shown<'_>, page: Page) -> Vec<Paragraph> {
    let sides = [Side::Before, Side::After].map(|side| (side, figures(shown, side)));
    let columns = [0, 1, 2].map(|at| sides.iter().map(|(_, of)| width(&of[at])).max().unwrap_or(0));
    let line = |(side, of): &(Side, [String; 3])| {
        let right = |at: usize| format!("{}{}", " ".repeat(columns[at] - width(&of[at])), of[at]);
        let of = format!("median {}  ({} to {})", right(0), right(1), right(2));
        let room = page.columns.saturating_sub(TITLE + 3 + width(&of)).max(20);
        let [before, after] = [0, 1].map(|at| elide(&visible(&shown.tested.arms[at].line()), room));
        let longest = width(&before).max(width(&after));
        let command = if *side == Side::Before { before } else { after };
        let space = " ".repeat(longest - width(&command));
        Paragraph::item(format!("{command}{space}   {of}")).label(side.id(), None, TITLE).fit(Fit::Stay)
    };
    sides.iter().map(line).collect()
}

fn table(shown: Shown<'_>) -> Table {
    let figure = |at: usize| move |side: &Side| figures(shown, *side)[at].clone();
    Table::of(&[Side::Before, Side::After])
        .left("", |side| side.id())
        .left("Command", |side| shown.tested.arm(*side).line())
        .right("Median", figure(0))
        .right("Least", figure(1))
        .right("Most", figure(2))
        .table()
}
