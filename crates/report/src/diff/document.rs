//! A comparison as a document.

use super::lines::{Line, Section, folded, sections, spread};
use super::{Comparison, gate, remarks};
use crate::document::{self, Document, Fit, Form, Paragraph, Table};
use crate::escape::visible;
use crate::layout::{cut, elide, width};
use crate::style::Role;
use crate::units;
use explain::Summary;

/// Widths of before, after, the change and its share, columns; a space before each.
const FIGURES: [usize; 4] = [8, 8, 9, 7];

/// Columns before a line, and of its cause.
const INDENT: usize = 2;
const CAUSE: usize = 16;

/// A comparison; with `all` also the changes that are noise.
pub fn document(comparison: &Comparison, form: Form, all: bool) -> Document {
    let mut document = Document::new(form);
    if document.is_markdown() {
        document.extend(gate::document(&comparison.diff, form));
        document.push(Paragraph::heading(1, "What changed"));
    }
    for (name, traces) in [("before", &comparison.before), ("after", &comparison.after)] {
        document.extend(traces.iter().enumerate().map(|(at, trace)| side(name, at, trace, form)));
    }
    document.extend(remarks(comparison).into_iter().map(|remark| Paragraph::remark(remark).indented(INDENT)));
    let counts = (comparison.before.len(), comparison.after.len());
    for (at, section) in sections(&comparison.diff, all).iter().enumerate() {
        document.gap();
        match form {
            Form::Text(page) => document.extend(lines(section, page.columns)),
            Form::Markdown => table(&mut document, section),
        }
        document.extend(folded(section.folded).map(|folded| Paragraph::new(folded).indented(INDENT)));
        let spread = |line: &Line| {
            let spread = spread(&line.change, counts)?;
            Some(Paragraph::new(format!("{}: {spread}", line.of)).indented(INDENT))
        };
        document.extend(section.lines.iter().filter(|_| at == 0).filter_map(spread));
    }
    if !comparison.diff.has_changes() {
        document.gap();
        document.push(Paragraph::new("no change beyond noise"));
    }
    if !document.is_markdown() {
        document.extend(gate::document(&comparison.diff, form));
    }
    document
}

/// `before  a.json.gz   1.25 s · 3,894 calls · 3,842 GPU ops`, for each trace of a side.
fn side(name: &str, at: usize, trace: &Summary, form: Form) -> Paragraph {
    let time = units::duration(trace.selected_ns.unwrap_or(trace.duration_ns));
    match form {
        Form::Text(page) => {
            let (calls, ops) = (
                units::counted(trace.calls, "call", "calls"),
                units::counted(trace.ops, "GPU op", "GPU ops"),
            );
            let facts = format!("{time} · {calls} · {ops}");
            let path = elide(&visible(&trace.path), page.columns.saturating_sub(NAME + 3 + width(&facts)));
            let name = if at == 0 { name } else { "" };
            Paragraph::item(format!("{path}   {facts}")).label(name, None, NAME).fit(Fit::Stay)
        }
        Form::Markdown => {
            let (calls, ops) = (units::count(trace.calls), units::count(trace.ops));
            let facts = format!("{} · {time} · {calls} calls · {ops} GPU ops", trace.path);
            Paragraph::item(facts).label(name, None, NAME)
        }
    }
}

/// Columns of a side's name.
const NAME: usize = 8;

fn table(document: &mut Document, section: &Section) {
    if !section.title.is_empty() {
        document.push(Paragraph::heading(2, &section.title));
    }
    let figures = |at: usize| move |line: &Line| line.figures()[at].clone();
    let table = Table::of(&section.lines)
        .left("Cause", |line| line.cause.clone())
        .left("Where", |line| line.of.clone())
        .right("Before", figures(0))
        .right("After", figures(1))
        .right("Change", figures(2))
        .right("Share", figures(3))
        .table()
        .without_empty_columns();
    document.extend((!section.lines.is_empty()).then_some(table));
}

/// The title and the lines of a section of text; the first one has the titles of the figures.
fn lines(section: &Section, columns: usize) -> Vec<Paragraph> {
    let title = match section.title.is_empty() {
        true => {
            let titles = line("", &["before", "after", "change", ""].map(str::to_owned), columns);
            document::Line::of(Role::Dim, titles.trim_end())
        }
        false => document::Line::of(Role::Strong, elide(&section.title, columns)),
    };
    let of = |of: &Line| document::Line::from(line(&label(of, columns), &of.figures(), columns));
    let lines = std::iter::once(title).chain(section.lines.iter().map(of));
    lines.map(|line| Paragraph::new(line).fit(Fit::Stay)).collect()
}

fn label(of: &Line, columns: usize) -> String {
    let room = room(columns);
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
