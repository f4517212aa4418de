//! What holds the program up, as text, JSON and Markdown.

mod digest;
mod json;
mod markdown;
mod phrases;
mod text;
mod words;

pub use digest::digest;
pub use json::{json, json_array};
pub use markdown::markdown;
pub use text::text;
pub use words::{Field, Overview, Words, cause, overview, share, words};

pub(crate) use phrases::place as place_text;

use explain::{Explanation, Finding};

/// Findings worth a paragraph, and those too small for one.
///
/// Small is less than a thousandth of the time looked at: nobody fixes those first.
fn by_size(explanation: &Explanation, all: bool) -> (Vec<&Finding>, Vec<&Finding>) {
    let spent = [explanation.slow_call_ns, explanation.short_wait_ns, explanation.outside_wait_ns];
    let threshold = spent.iter().map(|time| time / 1_000).sum();
    explanation.findings.iter().partition(|finding| all || finding.lost_ns >= threshold)
}
