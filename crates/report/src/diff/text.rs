//! A comparison for a terminal.

use super::lines::{Line, Section, folded, sections, spread};
use super::{Comparison, gate, remarks};
use crate::escape::visible;
use crate::layout::{cut, elide, hang, width};
use crate::page::Page;
use crate::style::Role;
use crate::units;
use explain::Summary;

/// Widths of before, after, the change and its share, columns; a space before each.
const FIGURES: [usize; 4] = [8, 8, 9, 7];

/// Columns before a line, and of its cause.
const INDENT: usize = 2;
const CAUSE: usize = 16;

/// A comparison as lines that fit the page; with `all` also the changes that are noise.
pub fn text(comparison: &Comparison, page: Page, all: bool) -> String {
    let mut text = String::new();
    text.push_str(&side("before", &comparison.before, page));
    text.push_str(&side("after", &comparison.after, page));
    for remark in remarks(comparison) {
        text.push_str(&format!("  {}", hang(&remark, page.columns - 2)));
    }
    let counts = (comparison.before.len(), comparison.after.len());
    for (at, section) in sections(&comparison.diff, all).iter().enumerate() {
        text.push('\n');
        write(&mut text, section, page, at == 0);
        if at == 0 {
            for line in &section.lines {
                if let Some(spread) = spread(&line.change, counts) {
                    text.push_str(&format!(
                        "  {}",
                        hang(&format!("{}: {spread}", line.of), page.columns - 2)
                    ));
                }
            }
        }
    }
    if !comparison.diff.has_changes() {
        text.push_str("\nno change beyond noise\n");
    }
    text.push_str(&gate::text(&comparison.diff));
    text
}

/// `before  a.json.gz   1.25 s · 3,894 calls · 3,842 GPU ops`, a line for each trace.
fn side(name: &str, traces: &[Summary], page: Page) -> String {
    let mut text = String::new();
    for (at, trace) in traces.iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        let facts = format!(
            "{} · {} · {}",
            units::duration(trace.selected_ns.unwrap_or(trace.duration_ns)),
            units::counted(trace.calls, "call", "calls"),
            units::counted(trace.ops, "GPU op", "GPU ops")
        );
        let room = page.columns.saturating_sub(8 + 3 + width(&facts));
        let path = elide(&visible(&trace.path), room);
        text.push_str(&format!("{name:8}{path}   {facts}\n"));
    }
    text
}

fn write(text: &mut String, section: &Section, page: Page, first: bool) {
    if first {
        let titles = ["before", "after", "change", ""].map(str::to_owned);
        let titles = line("", &titles, page.columns);
        text.push_str(&format!("{}\n", page.style.paint(Role::Dim, titles.trim_end())));
    } else {
        text.push_str(&format!("{}\n", page.style.paint(Role::Strong, &elide(&section.title, page.columns))));
    }
    for of in &section.lines {
        text.push_str(line(&label(of, page), &of.figures(), page.columns).trim_end());
        text.push('\n');
    }
    if let Some(folded) = folded(section.folded) {
        text.push_str(&format!("{:INDENT$}{folded}\n", ""));
    }
}

fn label(of: &Line, page: Page) -> String {
    let room = room(page.columns);
    let text = match of.cause.is_empty() {
        true => of.short.clone(),
        false if of.short.is_empty() => of.cause.clone(),
        false => {
            let cause = format!("{:CAUSE$} ", of.cause);
            format!("{cause}{}", cut(&of.short, room.saturating_sub(width(&cause))))
        }
    };
    cut(&text, room)
}

/// Columns of a label.
fn room(columns: usize) -> usize {
    columns - INDENT - FIGURES.iter().map(|width| width + 1).sum::<usize>()
}

fn line(label: &str, figures: &[String; 4], columns: usize) -> String {
    let space = " ".repeat(room(columns).saturating_sub(width(label)));
    let figures = figures
        .iter()
        .zip(FIGURES)
        .map(|(figure, columns)| format!(" {}{figure}", " ".repeat(columns.saturating_sub(width(figure)))));
    format!("{:INDENT$}{label}{space}{}", "", figures.collect::<String>())
}
