//! Folded stacks, one line per stack: `thread;outer;inner 12`, as `flamegraph.pl`, inferno and speedscope read them.

use super::{Flame, flames, frames, stackless, title, visible};
use std::collections::BTreeMap;
use std::io::{self, Write};
use trace::{Sample, Trace};

/// Writes the samples of a trace as folded stacks: the thread and the GPU's state, then the frames, outermost first, then
/// the number of samples.
pub fn folded(trace: &Trace, mut to: impl Write) -> io::Result<()> {
    for flame in flames(trace) {
        let mut counts = BTreeMap::<String, u64>::new();
        for sample in &flame.samples {
            *counts.entry(line(trace, &flame, sample)).or_default() += 1;
        }
        for (stack, count) in counts {
            writeln!(to, "{stack} {count}")?;
        }
    }
    to.flush()
}

fn line(trace: &Trace, flame: &Flame, sample: &Sample) -> String {
    let mut parts = vec![title(trace, flame)];
    parts.extend(frames(trace, sample.stack).into_iter().map(|frame| {
        let frame = trace.frames.row(frame);
        let (function, file) = (visible(trace.text(frame.function)), visible(trace.text(frame.file)));
        if frame.line == 0 { function.into_owned() } else { format!("{function} ({file}:{})", frame.line) }
    }));
    if parts.len() == 1 {
        parts.push(stackless(sample));
    }
    // A semicolon separates frames.
    parts.iter().map(|part| part.replace(';', ",")).collect::<Vec<_>>().join(";")
}
