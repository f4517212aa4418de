//! One HTML file that holds everything it needs: what `explain` says of a trace, to look at.
//!
//! A [`Page`] is a title and [`Section`]s. A section is HTML that reads without scripts, and data for
//! the script that brings it to life; whoever has something else to show (results, plots) adds a
//! section of its own. [`of_trace`] makes the page of one trace; [`serve`] shows a page on this machine.
//!
//! Text from traces is hostile. It reaches the page through [`html`] alone, which escapes it, or in
//! data, which is base64; the script shows it as text and the page's own policy lets nothing else run.

mod document;
mod findings;
pub mod html;
mod of_trace;
pub mod serve;
mod size;
pub mod table;
mod tables;
mod template;
mod timeline;

pub use document::{Data, Page, Section, Written};
pub use of_trace::{Options, of_trace};
pub use size::size;
