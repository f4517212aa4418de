//! Writes one self-contained HTML file: the findings of a trace, its timeline and tables, or the sections of a caller.
//!
//! A [`Page`] is a title and [`Section`]s. A section is HTML that is readable without scripts, and data for the script
//! that makes it interactive; callers with other contents (results, plots) add their own sections. [`fn@of_trace`]
//! builds the page of one trace; [`serve`] serves a page on this machine.
//!
//! Text from traces is untrusted. It reaches the page only through [`html`], which escapes it, or in data, which is
//! base64; the script shows it as text, and the page's own policy allows no other script.
//!
//! ```
//! use page::{Page, Section, html::Html};
//!
//! let mut body = Html::new();
//! body.leaf("p", &[], "a < b");
//! let section = Section { id: "results", title: "Results".into(), body, ..Section::default() };
//! let page = Page { title: "Results".into(), sections: vec![section], ..Page::default() };
//!
//! let mut file = Vec::new();
//! let written = page.write(&mut file)?;
//! assert_eq!(written.bytes, file.len() as u64);
//! assert!(String::from_utf8_lossy(&file).contains("<p>a &lt; b</p>"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod account;
pub mod before_after;
mod document;
mod findings;
#[cfg(test)]
mod fixture;
pub mod html;
mod of_trace;
pub mod serve;
mod table;
mod tables;
mod template;
mod timeline;

pub use document::{Data, Page, Section, Written};
pub use of_trace::{Options, of_trace};
