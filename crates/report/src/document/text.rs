//! Writes blocks as lines of a page.

use super::block::Block;
use super::paragraph::{Fit, Label, Line, Paragraph};
use super::table::{Table, Width};
use crate::escape::visible;
use crate::layout::{cut, elide, width, wrap};
use crate::page::Page;
use crate::style::{Role, Style};

pub(super) fn block(block: &Block, page: Page) -> String {
    match block {
        Block::Paragraph(of) => paragraph(of, page),
        Block::Table(of) => table(of, page),
        Block::Code { code, indent, .. } => {
            code.lines().map(|line| ended(&format!("{:indent$}{line}", ""))).collect()
        }
        Block::Drawn(text) => text.clone(),
        Block::Gap => String::from("\n"),
    }
}

fn table(table: &Table, page: Page) -> String {
    table.boxed(match table.width {
        Width::Page => Some(page.columns),
        Width::Terminal => Some(page.table_columns),
        Width::Any => None,
    })
}

fn paragraph(of: &Paragraph, page: Page) -> String {
    let labels: String = of.labels.iter().map(|of| label(of, page.style)).collect();
    let start =
        of.indent + of.labels.iter().map(|label| label.columns.max(width(&label.text))).sum::<usize>();
    let right = of.right.as_ref().map(|(role, words)| (width(words), page.style.paint(*role, words)));
    let taken = right.as_ref().map_or(0, |(columns, _)| columns + 2);
    let text: String = of.line.0.iter().map(|(_, text)| visible(text)).collect();
    let room = page.columns.saturating_sub(start);
    let lines = match of.fit {
        Fit::Wrap => wrap(&text, room.saturating_sub(of.hang + taken)),
        Fit::Cut => vec![cut(&text, room)],
        Fit::Elide => vec![elide(&text, room)],
        Fit::Stay => vec![text],
    };
    let mut written = String::new();
    for (at, (line, painted)) in lines.iter().zip(painted(&lines, &of.line, page.style)).enumerate() {
        let further = start + of.hang;
        let mut text = match at {
            0 => format!("{:indent$}{labels}{painted}", "", indent = of.indent),
            _ => format!("{:further$}{painted}", ""),
        };
        if let Some((columns, words)) = right.as_ref().filter(|_| at == 0) {
            let gap = page.columns.saturating_sub(start + width(line) + columns).max(1);
            text.push_str(&format!("{:gap$}{words}", ""));
        }
        written.push_str(&ended(&text));
    }
    written
}

fn ended(line: &str) -> String {
    format!("{}\n", line.trim_end())
}

fn label(label: &Label, style: Style) -> String {
    let text = visible(&label.text);
    let space = " ".repeat(label.columns.saturating_sub(width(&text)));
    label.role.map_or(format!("{text}{space}"), |role| style.paint(role, &format!("{text}{space}")))
}

/// The lines with the colours of their pieces: wrapping moves spaces, and keeps the order of all other characters.
fn painted(lines: &[String], of: &Line, style: Style) -> Vec<String> {
    if style == Style::Plain || of.0.iter().all(|(role, _)| role.is_none()) {
        return lines.to_vec();
    }
    let roles = of.0.iter().flat_map(|(role, text)| {
        let kept = visible(text).chars().filter(|c| *c != ' ').count();
        std::iter::repeat_n(*role, kept)
    });
    let mut roles = roles.peekable();
    let mut last = None;
    let mut paint = |line: &String| {
        let mut pieces: Vec<(Option<Role>, String)> = Vec::new();
        for c in line.chars() {
            // A space between two pieces belongs to neither.
            let role = match c {
                ' ' => roles.peek().copied().flatten().filter(|role| last == Some(*role)),
                _ => roles.next().unwrap_or(last),
            };
            if c != ' ' {
                last = role;
            }
            match pieces.last_mut() {
                Some((of, text)) if *of == role => text.push(c),
                _ => pieces.push((role, c.to_string())),
            }
        }
        let paint =
            |(role, text): (Option<Role>, String)| role.map_or(text.clone(), |role| style.paint(role, &text));
        pieces.into_iter().map(paint).collect()
    };
    lines.iter().map(&mut paint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Document, Form};

    fn written(paragraph: Paragraph, style: Style) -> String {
        let mut document = Document::new(Form::Text(Page { columns: 20, table_columns: 20, style }));
        document.push(paragraph);
        document.to_string()
    }

    #[test]
    fn further_lines_stay_beside_the_labels() {
        let item = || Paragraph::item("one two three four").label("why", Some(Role::Dim), 6).indented(2);
        assert_eq!(written(item(), Style::Plain), "  why   one two\n        three four\n");
        assert_eq!(written(item().fit(Fit::Cut), Style::Plain), "  why   one two thr…\n");
        assert_eq!(written(item().hanging(2), Style::Plain), "  why   one two\n          three four\n");
        assert_eq!(written(item(), Style::Colour), "  \u{1b}[2mwhy   \u{1b}[0mone two\n        three four\n");
    }

    #[test]
    fn pieces_keep_their_colours_in_further_lines() {
        let line = Line::from("lost ").with(Role::Strong, "one two three").and(" of four");
        let text = written(Paragraph::new(line), Style::Colour);
        assert_eq!(text, "lost \u{1b}[1mone two\u{1b}[0m\n    \u{1b}[1mthree\u{1b}[0m of four\n");
    }

    #[test]
    fn words_at_the_right_end_have_room() {
        let finding = Paragraph::new("one two three").hanging(0).right(Role::Dim, "lock".to_owned());
        assert_eq!(written(finding, Style::Plain), "one two three   lock\n");
    }

    #[test]
    fn names_do_nothing_to_a_terminal() {
        let item = Paragraph::item("a\x1b[2Jb").label("c\nd", None, 5);
        assert_eq!(written(item, Style::Colour), "c\\nd a\\u{1b}[2Jb\n");
    }
}
