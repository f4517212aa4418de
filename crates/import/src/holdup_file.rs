//! Reads holdup's own files with the `trace` crate.

use crate::importer::{Fit, Importer, Input, Seen};
use crate::{Problem, Progress};
use trace::{Source, Trace};

pub(crate) static IMPORTER: Importer = Importer { source: Source::HOLDUP, sniff, read };

/// Recognizes a zip archive: no other format that holdup reads is one.
fn sniff(seen: &Seen<'_>) -> Fit {
    matches!(seen, Seen::Head([b'P', b'K', 3 | 5, 4 | 6, ..])).into()
}

fn read(input: Input<'_>, _: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    Ok(trace::read(&input.whole().bytes)?)
}
