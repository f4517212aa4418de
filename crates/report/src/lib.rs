//! Everything holdup says: findings, summary tables and listings, as text, JSON, CSV and Markdown.
//!
//! Nothing here decides what held a program up; it only sums up, lays out and words. Text from
//! traces is made harmless before it reaches a terminal or a Markdown page.

mod checklist;
mod escape;
pub mod explanation;
mod header;
mod labels;
mod layout;
pub mod listing;
mod page;
pub mod places;
pub mod stats;
mod style;
mod table;
pub mod units;

pub use checklist::{Item, Mark, checklist};
pub use escape::visible;
pub use layout::elide;
pub use page::Page;
pub use style::Style;

/// Which trace this is, what is in it and what it lacks: the lines that every output begins with.
pub fn header(trace: &trace::Trace, path: &str, page: Page) -> String {
    header::text(&header::summary(trace, path), page.columns)
}
