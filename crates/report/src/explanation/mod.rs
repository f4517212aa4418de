//! Explanations as text, JSON and Markdown.

mod digest;
mod json;
mod markdown;
mod phrases;
mod sentence;
mod text;
mod words;

pub use digest::digest;
pub use json::{json, json_array};
pub use markdown::markdown;
pub use sentence::{detail, sentence};
pub use text::text;
pub use words::{Field, Overlapped, Overview, Words, overview, share, words};

pub use phrases::place as place_text;

use crate::page::Page;
use explain::{Explanation, Finding};

/// A finding in one line, with names escaped:
/// `driver-lock · likely: thread 7 lost 1,163 ms (94 % of its time) in 25 × cudaLaunchKernel; waits for thread 8 in cudaMemcpyAsync`.
pub fn line(finding: &Finding, many_processes: bool) -> String {
    let (verdict, sentence) = (phrases::verdict(finding), phrases::sentence(finding, many_processes));
    let holder = finding.holder.as_ref().map(|holder| phrases::party(holder, many_processes, Page::WIDEST));
    let holder = holder.map_or(String::new(), |holder| format!("; waits for {holder}"));
    format!("{verdict}: {sentence}{holder}")
}

/// Number of findings that are printed in full if all are small.
const AT_LEAST: usize = 3;

/// The findings that get a paragraph, and those too small for one.
///
/// A small finding is less than a thousandth of the time in slow calls and waits: users fix others first. If all are small,
/// the first [`AT_LEAST`] get a paragraph.
fn by_size(explanation: &Explanation, all: bool) -> (Vec<&Finding>, Vec<&Finding>) {
    let spent = [explanation.slow_call_ns, explanation.short_wait_ns, explanation.outside_wait_ns];
    let threshold = spent.iter().map(|time| time / 1_000).sum();
    let is_large = |finding: &Finding| all || finding.lost_ns >= threshold;
    if !explanation.findings.iter().any(is_large) {
        let (first, rest) = explanation.findings.split_at(AT_LEAST.min(explanation.findings.len()));
        return (first.iter().collect(), rest.iter().collect());
    }
    explanation.findings.iter().partition(|finding| is_large(finding))
}
