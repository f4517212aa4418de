//! The judgement of a summary table that a profiler printed, as a document or as JSON.

mod document;
mod json;
mod sentences;
mod steps;

pub use document::document;
pub use json::json;

use summary::{Judgement, Summary, judge};

/// The summary tables of one text, with their judgements.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The name of the text, for people.
    pub path: String,
    /// Each profile in the text, in its order.
    pub tables: Vec<(Summary, Judgement)>,
}

impl Judged {
    /// Judges each profile of a text.
    pub fn new(path: String, summaries: Vec<Summary>) -> Judged {
        let judged = |summary: Summary| {
            let judgement = judge(&summary);
            (summary, judgement)
        };
        Judged { path, tables: summaries.into_iter().map(judged).collect() }
    }
}
