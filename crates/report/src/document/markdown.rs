//! Writes blocks as GitHub's Markdown.

use super::block::Block;
use super::paragraph::{Label, Line, Paragraph, Rank};
use crate::escape::markdown as escaped;
use crate::style::Role;

/// The blocks with an empty line between them, except between items.
pub(super) fn blocks(blocks: &[Block]) -> String {
    let mut text = String::new();
    let mut after_item = false;
    for block in blocks {
        let (written, is_item) = match block {
            Block::Paragraph(of) => (paragraph(of), of.rank == Rank::Item),
            Block::Table(of) => (of.markdown(), false),
            Block::Code { language, code, .. } => (fenced(language, code), false),
            Block::Drawn(text) => (text.clone(), false),
            Block::Gap => continue,
        };
        let is_apart = !after_item || !is_item;
        if is_apart && !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&written);
        after_item = is_item;
    }
    text
}

fn paragraph(of: &Paragraph) -> String {
    let mark = match of.rank {
        Rank::Plain => String::new(),
        Rank::Heading(level) => format!("{} ", "#".repeat(level)),
        Rank::Item => String::from("- "),
        Rank::Quote => String::from("> "),
    };
    let labels: String = of.labels.iter().map(label).collect();
    format!("{}{mark}{labels}{}\n", "  ".repeat(of.depth), line(&of.line))
}

fn label(label: &Label) -> String {
    let text = escaped(label.text.trim());
    match label.role {
        Some(Role::Strong) => format!("**{text}** "),
        Some(_) => format!("**{text}**: "),
        None => format!("{text}: "),
    }
}

fn line(line: &Line) -> String {
    let piece = |(role, text): &(Option<Role>, String)| match role {
        _ if text.is_empty() => String::new(),
        Some(Role::Strong | Role::Certain | Role::Unsure) => format!("**{}**", escaped(text)),
        // A remedy's name is one of ours.
        Some(Role::Remedy) => format!("`{text}`"),
        Some(Role::Dim) => format!("*{}*", escaped(text)),
        None => escaped(text),
    };
    line.0.iter().map(piece).collect()
}

/// Code within an item of an item.
fn fenced(language: &str, code: &str) -> String {
    let code: String = code.lines().map(|line| format!("    {line}\n")).collect();
    format!("    ```{language}\n{code}    ```\n")
}
