//! Explanations as text, JSON and Markdown.

mod applied;
mod brief;
mod document;
mod full;
mod gain;
mod json;
mod phrases;
mod sentence;
mod size;
mod words;

pub use applied::Applied;
pub use document::{digest, document};
pub use gain::gain;
pub(crate) use gain::is_loss;
pub use json::{json, json_array};
pub use sentence::{detail, sentence};
pub use words::{Field, Overlapped, Overview, Words, overview, share, words};

pub use phrases::place as place_text;
pub(crate) use phrases::when;

use crate::page::Page;
use explain::Finding;

/// A finding in one line, with names escaped:
/// `driver-lock · likely: thread 7 lost 1,163 ms (94 % of its time) in 25 × cudaLaunchKernel; waits for thread 8 in cudaMemcpyAsync`.
pub fn line(finding: &Finding, many_processes: bool) -> String {
    let (verdict, sentence) = (phrases::verdict(finding), phrases::sentence(finding, many_processes));
    let holder = finding.holder.as_ref().map(|holder| phrases::party(holder, many_processes, Page::WIDEST));
    let holder = holder.map_or(String::new(), |holder| format!("; waits for {holder}"));
    format!("{verdict}: {sentence}{holder}")
}
