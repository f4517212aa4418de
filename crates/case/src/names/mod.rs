//! Replaces the names of a trace's program by numbers.
//!
//! Each text of each table is replaced unless a rule knows it as one of CUDA, of a well-known library or of the operating system
//! (`known.rs`): a column that no rule knows keeps nothing.

mod given;
mod public;
mod words;

pub use given::{Kind, Replaced};

use given::Names;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::{Api, Lost, Meta, RangeKind, Sym, Trace, Word};

/// Replaces the names of the program in a trace. Returns how many there were of each kind.
pub fn replace(trace: &mut Trace) -> Replaced {
    let context = Context::of(trace);
    let mut names = Names::default();
    let mut done = FxHashMap::<(&str, &str, Sym, u8), Sym>::default();
    trace.reword(&mut |word, strings| {
        let variant = context.variant(&word);
        let key = (word.table, word.column, word.sym, variant);
        *done.entry(key).or_insert_with(|| strings.intern(&names.of(&word, variant)))
    });
    describe(&mut trace.meta, &mut names.replaced);
    names.replaced
}

/// Facts of rows on which it depends what becomes of their texts.
struct Context {
    /// By call: whether it is the operating system's.
    is_system: Vec<bool>,
    /// By range: whether it is Python's, the tracer's, or any other.
    ranges: Vec<u8>,
    /// By frame: whether it is of a well-known library.
    is_known: Vec<bool>,
}

/// Variants of a range.
const PYTHON: u8 = 1;
const TRACER: u8 = 2;

impl Context {
    fn of(trace: &Trace) -> Context {
        let range = |kind: &RangeKind| match kind {
            RangeKind::Python => PYTHON,
            RangeKind::Overhead => TRACER,
            RangeKind::Unknown | RangeKind::Operator | RangeKind::User => 0,
        };
        let frames = &trace.frames;
        let frame = |at: usize| {
            let (file, module) = (trace.text(frames.file[at]), trace.text(frames.module[at]));
            match file.is_empty() {
                true => public::library(module).is_some(),
                // Templates in headers may have the program's types.
                false => public::source(file).is_some() && !file.starts_with("/usr/include/"),
            }
        };
        Context {
            is_system: trace.calls.api.iter().map(|api| *api == Api::Os).collect(),
            ranges: trace.ranges.kind.iter().map(range).collect(),
            is_known: (0..frames.len()).map(frame).collect(),
        }
    }

    fn variant(&self, word: &Word<'_>) -> u8 {
        match (word.table, word.column) {
            ("calls", "name") => u8::from(self.is_system[word.row]),
            ("ranges", "name") => self.ranges[word.row],
            ("frames", "function") => u8::from(self.is_known[word.row]),
            _ => 0,
        }
    }
}

impl Names {
    /// The text in place of a text.
    fn of(&mut self, word: &Word<'_>, variant: u8) -> String {
        let text = word.text;
        match (word.table, word.column) {
            ("processes", "name") => self.numbered(Kind::Process, text),
            ("threads", "name") => self.numbered(Kind::Thread, text),
            ("devices", "name") => text.to_owned(),
            ("devices", "uuid") => self.numbered(Kind::Gpu, text),
            ("calls" | "tallies", "name") => self.call(text, variant == 1),
            ("ops", "name") | ("arguments", "kernel") => self.kernel(text),
            ("ops", "communicator") => self.numbered(Kind::Communicator, text),
            ("waits", "library") | ("frames", "module") => self.module(text),
            ("frames", "file") => self.source(text),
            ("frames", "function") => self.function(text, variant == 1),
            ("ranges", "name") => match variant {
                TRACER => text.to_owned(),
                PYTHON => self.python(text),
                _ => self.range(text),
            },
            ("ranges", "domain") if public::domain(text) => text.to_owned(),
            ("ranges", "domain") => self.numbered(Kind::Range, text),
            ("states", "call") if public::system_call(text) => text.to_owned(),
            _ => self.numbered(Kind::Other, text),
        }
    }
}

/// Removes what the description of a trace may say about its program.
fn describe(meta: &mut Meta, replaced: &mut Replaced) {
    let mut count = |kind: Kind, count: usize| {
        if count > 0 {
            *replaced.entry(kind).or_default() += count;
        }
    };
    count(Kind::Command, usize::from(!std::mem::take(&mut meta.command).is_empty()));
    count(Kind::Host, usize::from(!std::mem::take(&mut meta.host).is_empty()));
    count(Kind::Date, usize::from(meta.epoch_unix_ns.take().is_some()));
    let is_part = meta.is_part();
    count(Kind::Remark, meta.notes.len() - usize::from(is_part));
    meta.notes.clear();
    if is_part {
        meta.set_part();
    }
    let libraries = std::mem::take(&mut meta.libraries);
    let (known, others): (BTreeMap<_, _>, BTreeMap<_, _>) = libraries
        .into_iter()
        .partition(|(name, version)| public::versioned(name) && public::version(version));
    meta.libraries = known;
    count(Kind::Version, others.len());
    for text in [&mut meta.driver, &mut meta.runtime, &mut meta.source_version] {
        if !text.is_empty() && !public::version(text) {
            text.clear();
            count(Kind::Version, 1);
        }
    }
    count(Kind::Remark, fold(&mut meta.lost.reasons, "other reasons", |reason| reason == Lost::KERNELS));
    count(Kind::Remark, fold(&mut meta.left_out, "records that no table holds", |_| false));
}

/// Adds up what is counted under keys that do not stay. Returns how many these were.
fn fold(counts: &mut BTreeMap<String, u64>, under: &str, stays: impl Fn(&str) -> bool) -> usize {
    let all = std::mem::take(counts);
    let before = all.len();
    let mut folded = 0;
    for (key, number) in all {
        if stays(&key) {
            counts.insert(key, number);
        } else if number > 0 {
            let sum = counts.entry(under.to_owned()).or_default();
            *sum = sum.saturating_add(number);
            folded += 1;
        }
    }
    folded.min(before)
}
