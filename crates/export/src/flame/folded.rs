//! Folded stacks, one line per stack: `thread;outer;inner 12`, as `flamegraph.pl`, inferno and speedscope read them.

use super::{Flame, flames, frames, stackless, title, visible};
use std::collections::BTreeMap;
use std::io::{self, Write};
use trace::{FrameId, Sample, Trace};

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
    parts.extend(frames(trace, sample.stack).into_iter().map(|frame| named(trace, frame)));
    if parts.len() == 1 {
        parts.push(stackless(sample));
    }
    // A semicolon separates frames.
    parts.iter().map(|part| part.replace(';', ",")).collect::<Vec<_>>().join(";")
}

/// `step (train.py:14)`; `libc.so.6 0x9cb83` for a function without a name.
fn named(trace: &Trace, frame: FrameId) -> String {
    let frame = trace.frames.row(frame);
    let function = visible(trace.text(frame.function));
    let module = visible(trace.text(frame.module));
    let module = module.rsplit('/').next().unwrap_or_default();
    match frame.line {
        0 if function.starts_with("0x") && !module.is_empty() => format!("{module} {function}"),
        0 => function.into_owned(),
        line => format!("{function} ({}:{line})", visible(trace.text(frame.file))),
    }
}
