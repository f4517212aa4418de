//! Writes everything that holdup prints: findings, summary tables, listings and plots, as text, JSON, CSV, Markdown and
//! SVG. It finds no causes: it only sums up, words and lays out what [`explain`] found and what a
//! [`trace::Trace`] holds.
//!
//! - [`document`](mod@document): blocks that a builder makes once, written as text or as Markdown.
//! - [`explanation`]: an [`explain::Explanation`] as a document or as JSON.
//! - [`diff`]: an [`explain::diff::Diff`] of traces as a document or as JSON.
//! - [`causes`]: the catalogue of causes, each an [`Entry`](causes::Entry).
//! - [`stats`], [`listing`], [`places`]: summary tables, calls and operations one per line, and source places.
//! - [`summary_table`]: what the sums of a printed [`Summary`](summary::Summary) prove.
//! - [`ranks`]: communication, and which rank was late at the collectives.
//! - [`prove`](mod@prove): a [`Proof`](::prove::Proof) that one command is faster than another, as a document or as JSON.
//! - [`plot`]: a [`Plot`](plot::Plot) as SVG or for a terminal.
//! - [`bars`]: the accounts of GPUs and threads as bars.
//! - [`units`]: durations, sizes, rates and shares as text.
//! - [`Page`] and [`Style`]: the width and the colours of text.
//!
//! Text from traces is escaped before it reaches a terminal ([`visible`]) or a Markdown page ([`escape_markdown`]).
//!
//! # Example
//!
//! ```
//! use report::document::Form;
//! use report::{causes, units};
//!
//! assert_eq!(units::duration(53_812_345), "53.8 ms");
//! assert_eq!(units::bytes(64 << 20), "64 MiB");
//!
//! let table = causes::document(&causes::Entry::all(), Form::Markdown).to_string();
//! assert!(table.contains("| `driver-lock` |"));
//! ```

mod account;
pub mod bars;
pub mod causes;
mod checklist;
pub mod diff;
pub mod document;
mod escape;
pub mod explanation;
mod failed;
mod groups;
mod header;
mod json;
mod labels;
mod layout;
pub mod listing;
mod overlap;
mod page;
mod place;
pub mod places;
pub mod plot;
pub mod prove;
pub mod ranks;
mod short;
pub mod stats;
pub mod steps;
mod style;
pub mod summary_table;
pub mod units;
mod verdict;

pub use checklist::{Item, Mark, checklist};
pub use escape::markdown as escape_markdown;
pub use escape::visible;
pub use json::{json, json_array};
pub use labels::op_name;
pub use layout::elide;
pub use page::Page;
pub use style::{Role, Style};
pub use verdict::{VerdictLine, verdict, verdict_lines};

/// The first lines of every output: which trace this is, what it contains and what it lacks.
pub fn header(trace: &trace::Trace, path: &str, page: Page) -> document::Document {
    header::document(&header::summary(trace, path), document::Form::Text(page), header::Extent::All)
}

/// `17,646,398 records lost (17,646,398 no room left in the spool)`; `None` if none was lost.
pub fn losses(trace: &trace::Trace) -> Option<String> {
    header::losses(&explain::summary(trace))
}
