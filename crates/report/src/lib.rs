//! Everything holdup says: findings, summary tables, listings and plots, as text, JSON, CSV, Markdown and SVG.
//!
//! Nothing here decides what held a program up; it only sums up, lays out and words. Text from
//! traces is made harmless before it reaches a terminal or a Markdown page.

pub mod causes;
mod checklist;
mod escape;
pub mod explanation;
mod header;
mod json;
mod labels;
mod layout;
pub mod listing;
mod overlap;
mod page;
pub mod places;
pub mod plot;
mod short;
pub mod stats;
mod style;
pub mod table;
pub mod units;

pub use checklist::{Item, Mark, checklist};
pub use escape::markdown as escape_markdown;
pub use escape::visible;
pub use json::{json, json_array};
pub use labels::op_name;
pub use layout::elide;
pub use page::Page;
pub use style::Style;

/// Which trace this is, what is in it and what it lacks: the lines that every output begins with.
pub fn header(trace: &trace::Trace, path: &str, page: Page) -> String {
    header::text(&header::summary(trace, path), page.columns)
}

/// `17,646,398 records lost (17,646,398 no room left in the spool)`; `None` where none was.
pub fn losses(trace: &trace::Trace) -> Option<String> {
    header::losses(&explain::summary(trace))
}

/// Text on as many lines as it needs, all but the first indented; as far as it is indented itself where that is further.
pub fn paragraph(text: &str, page: Page) -> String {
    let indent = text.len() - text.trim_start_matches(' ').len();
    let text = escape::visible(text.trim_start());
    let lines = layout::wrap(&text, page.columns.saturating_sub(indent.max(4)));
    let (first, rest) = (" ".repeat(indent), " ".repeat(indent.max(4)));
    let indented = |(at, line): (usize, String)| format!("{}{line}\n", if at == 0 { &first } else { &rest });
    lines.into_iter().enumerate().map(indented).collect()
}

/// A name in a column of so many, and text beside it, indented by four.
pub fn labelled(name: &str, columns: usize, text: &str, page: Page) -> String {
    let lines = layout::wrap(&escape::visible(text), page.columns.saturating_sub(columns + 4));
    let line =
        |(at, line): (usize, String)| format!("    {:columns$}{line}\n", if at == 0 { name } else { "" });
    lines.into_iter().enumerate().map(line).collect()
}
