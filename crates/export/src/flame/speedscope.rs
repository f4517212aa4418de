//! The JSON of speedscope: a dictionary of frames, and one profile per thread and state of the GPU.

use super::{Flame, flames, frames, stackless, title, visible};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::io::{self, Write};
use trace::{FrameId, Ns, Sample, Trace};

/// Writes the samples of a trace for speedscope. Each sample weighs the time that it stands for.
pub fn speedscope(trace: &Trace, mut to: impl Write) -> io::Result<()> {
    let mut dictionary = Dictionary { trace, frames: Vec::new(), known: FxHashMap::default() };
    let profiles: Vec<Value> = flames(trace).iter().map(|flame| profile(&mut dictionary, flame)).collect();
    let document = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("holdup ", env!("CARGO_PKG_VERSION")),
        "name": trace.meta.command,
        "activeProfileIndex": 0,
        "shared": { "frames": dictionary.frames },
        "profiles": profiles,
    });
    serde_json::to_writer(&mut to, &document)?;
    to.write_all(b"\n")?;
    to.flush()
}

fn profile(dictionary: &mut Dictionary<'_>, flame: &Flame) -> Value {
    let samples: Vec<Vec<usize>> = flame.samples.iter().map(|sample| dictionary.stack(sample)).collect();
    let weights: Vec<Ns> = vec![flame.each; samples.len()];
    let sum = weights.iter().fold(0, |sum: Ns, weight| sum.saturating_add(*weight));
    json!({
        "type": "sampled",
        "name": title(dictionary.trace, flame),
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum,
        "samples": samples,
        "weights": weights,
    })
}

/// Frame that a number in the dictionary stands for, or the state of a thread without a stack.
#[derive(PartialEq, Eq, Hash)]
enum Entry {
    Frame(FrameId),
    Stackless(&'static str),
}

/// The frames that profiles refer to by number.
struct Dictionary<'a> {
    trace: &'a Trace,
    frames: Vec<Value>,
    known: FxHashMap<Entry, usize>,
}

impl Dictionary<'_> {
    /// The numbers of a sample's frames, outermost first.
    fn stack(&mut self, sample: &Sample) -> Vec<usize> {
        let stack = frames(self.trace, sample.stack);
        if stack.is_empty() {
            let entry = Entry::Stackless(sample.state.name());
            return vec![self.number(entry, || json!({ "name": stackless(sample) }))];
        }
        let trace = self.trace;
        stack.into_iter().map(|frame| self.number(Entry::Frame(frame), || describe(trace, frame))).collect()
    }

    fn number(&mut self, entry: Entry, describe: impl FnOnce() -> Value) -> usize {
        *self.known.entry(entry).or_insert_with(|| {
            self.frames.push(describe());
            self.frames.len() - 1
        })
    }
}

fn describe(trace: &Trace, frame: FrameId) -> Value {
    let row = trace.frames.row(frame);
    let file = if row.file.is_empty() { row.module } else { row.file };
    let mut frame = json!({ "name": visible(trace.text(row.function)) });
    if !file.is_empty() {
        frame["file"] = json!(trace.text(file));
    }
    if row.line > 0 {
        frame["line"] = json!(row.line);
    }
    frame
}
