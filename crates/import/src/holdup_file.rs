//! Reads holdup's own files with the `trace` crate.

use crate::Problem;
use crate::importer::{Fit, Form, Importer, Input, Progress, Seen};
use trace::Trace;

pub(crate) static IMPORTER: Importer = Importer { forms: FORMS, sniff, read };

const FORMS: &[Form] = &[Form {
    name: "`.holdup`",
    made_by: "`holdup record COMMAND`, or `holdup import TRACE -o trace.holdup`",
}];

/// Recognizes a zip archive: no other format that holdup reads is one.
fn sniff(seen: &Seen<'_>) -> Fit {
    matches!(seen, Seen::Head([b'P', b'K', 3 | 5, 4 | 6, ..])).into()
}

fn read(input: Input<'_>, _: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    Ok(trace::read(&input.whole().bytes)?)
}
