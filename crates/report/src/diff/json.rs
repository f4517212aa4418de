//! A comparison for programs: everything in nanoseconds, changes that are noise included. `docs/schema/diff.json` describes it.

use super::Comparison;
use explain::Summary;
use explain::diff::Diff;
use serde::Serialize;

const SCHEMA: &str = "holdup/diff/1";

/// A comparison as one JSON object.
pub fn json(comparison: &Comparison) -> String {
    let Comparison { before, after, diff } = comparison;
    crate::json(SCHEMA, &Document { before, after, diff })
}

#[derive(Serialize)]
struct Document<'a> {
    before: &'a [Summary],
    after: &'a [Summary],
    #[serde(flatten)]
    diff: &'a Diff,
}
