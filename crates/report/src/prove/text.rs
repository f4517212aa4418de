//! A proof for a terminal.

use super::Shown;
use super::sentences::{figures, lines, subtitle};
use crate::escape::visible;
use crate::layout::{elide, hang, width};
use crate::page::Page;
use crate::style::Role;
use prove::Side;

/// Columns of titles.
const TITLE: usize = 11;

/// A proof as lines that fit the page.
pub fn text(shown: Shown<'_>, page: Page) -> String {
    let mut text = String::new();
    let figures = [Side::Before, Side::After].map(|side| (side, figures(shown, side)));
    let columns = [0, 1, 2].map(|at| figures.iter().map(|(_, of)| width(&of[at])).max().unwrap_or(0));
    for (side, of) in &figures {
        let right = |at: usize| format!("{}{}", " ".repeat(columns[at] - width(&of[at])), of[at]);
        let of = format!("median {}  ({} to {})", right(0), right(1), right(2));
        let room = page.columns.saturating_sub(TITLE + 3 + width(&of)).max(20);
        let line = elide(&visible(&shown.tested.arm(*side).line()), room);
        let space = " ".repeat(longest(shown, room) - width(&line));
        text.push_str(&format!("{:TITLE$}{line}{space}   {of}\n", side.id()));
    }
    text.push_str(&format!("{}\n\n", page.style.paint(Role::Dim, &elide(&subtitle(shown), page.columns))));
    for (at, (title, sentence)) in lines(shown).iter().enumerate() {
        let indented =
            hang(sentence, page.columns - TITLE).trim_end().replace('\n', &format!("\n{:TITLE$}", ""));
        let sentence = match at {
            0 => page.style.paint(Role::Strong, &indented),
            _ => indented,
        };
        text.push_str(&format!("{title:TITLE$}{sentence}\n"));
    }
    text
}

/// Columns of the longer command, cut to the room.
fn longest(shown: Shown<'_>, room: usize) -> usize {
    let width = |arm: &prove::Arm| width(&elide(&visible(&arm.line()), room));
    shown.tested.arms.iter().map(width).max().unwrap_or(0)
}
