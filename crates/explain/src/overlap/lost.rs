//! Overlap that was lost, by rule and kind of operation.

use super::rule::OverlapRule;
use crate::{Confidence, Evidence, Example, Place};
use serde::Serialize;
use trace::Ns;
use waits::Engine;

/// Overlap lost to one rule.
#[derive(Clone, Debug, Serialize)]
pub struct LostOverlap {
    /// The rule.
    pub rule: OverlapRule,
    /// Overlap lost, ns.
    pub lost_ns: Ns,
    /// Number of pieces.
    pub count: u64,
    /// The evidence that it rests on.
    pub evidence: Evidence,
    /// The confidence.
    pub confidence: Confidence,
    /// Other rules that would still prevent any overlap.
    pub also: Vec<OverlapRule>,
    /// The first kinds of late operations, most time first.
    pub operations: Vec<LateOps>,
    /// Number of all kinds of late operations.
    pub kinds: u64,
    /// The longest pieces.
    pub examples: Vec<Example>,
}

/// Late operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LateOps {
    /// The engine.
    pub engine: Engine,
    /// The kernel's name; empty for copies.
    pub kernel: String,
    /// The stream.
    pub stream: i64,
    /// The call that issued them; empty if the trace has none.
    pub call: String,
    /// The library whose calls or kernels they are (`cublas`); empty if unknown.
    pub library: String,
    /// Where most of the calls that issued them were made; `null` if unknown.
    #[serde(rename = "where")]
    pub place: Option<Place>,
    /// Operation or call for which they waited last; `null` if unknown.
    pub behind: Option<Behind>,
    /// Number of operations.
    pub count: u64,
    /// Overlap lost to them, ns.
    pub lost_ns: Ns,
}

/// The operation, or the call, that an operation waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Behind {
    /// The engine of that operation; `null` if the thread waited in a call.
    pub engine: Option<Engine>,
    /// The kernel's name; empty for copies.
    pub kernel: String,
    /// Its stream; `null` if the thread waited in a call.
    pub stream: Option<i64>,
    /// The call that issued it, or in which the thread waited.
    pub call: String,
    /// Its library, as in [`LateOps::library`].
    pub library: String,
    /// Where most such calls were made; `null` if unknown.
    #[serde(rename = "where")]
    pub place: Option<Place>,
}
