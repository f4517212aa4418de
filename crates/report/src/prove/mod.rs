//! Whether one command is faster than another, as text, JSON and Markdown.

mod document;
mod json;
mod sentences;

pub use document::document;
pub use json::json;
pub use sentences::{judged, reason};

use prove::{Proof, Tested};

/// A proof, and what it is about.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// The commands and how they were measured.
    pub tested: &'a Tested,
    /// Result of the measurements.
    pub proof: &'a Proof,
    /// The gain that was predicted, as a share of what was before.
    pub predicted: Option<f64>,
}
