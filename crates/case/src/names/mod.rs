//! Replaces the names of a trace's program by numbers.
//!
//! Each text of each table is replaced unless a rule knows it as one of CUDA, of a well-known library or of the operating system
//! (`known.rs`): a column that no rule knows keeps nothing.

mod known;
mod words;

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::{Api, Lost, Meta, RangeKind, Sym, Trace, Word};
use waits::communicates;

/// Kind of a text that is replaced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A process, or its executable.
    Process,
    /// A thread.
    Thread,
    /// A function of the program.
    Function,
    /// A source file, an executable or a library of the program.
    Path,
    /// A kernel.
    Kernel,
    /// A range that the program marked, or its domain.
    Range,
    /// A call that is not CUDA's.
    Call,
    /// A communicator of a collective.
    Communicator,
    /// The identity of a GPU.
    Gpu,
    /// The command line.
    Command,
    /// The name of the machine.
    Host,
    /// The time at which the recording was made.
    Date,
    /// A remark or a reason for a loss, which may quote anything.
    Remark,
    /// The version of a library that is not CUDA's.
    Version,
    /// Any other text.
    Other,
}

impl Kind {
    /// The kind in singular and plural.
    pub fn nouns(self) -> (&'static str, &'static str) {
        match self {
            Kind::Process => ("process name", "process names"),
            Kind::Thread => ("thread name", "thread names"),
            Kind::Function => ("function name", "function names"),
            Kind::Path => ("path", "paths"),
            Kind::Kernel => ("kernel name", "kernel names"),
            Kind::Range => (
                "name of a marked range (NVTX, record_function)",
                "names of marked ranges (NVTX, record_function)",
            ),
            Kind::Call => ("name of a call", "names of calls"),
            Kind::Communicator => ("communicator", "communicators"),
            Kind::Gpu => ("GPU's UUID", "GPUs' UUIDs"),
            Kind::Command => ("command line", "command lines"),
            Kind::Host => ("host name", "host names"),
            Kind::Date => ("date of the recording", "dates of recordings"),
            Kind::Remark => ("remark on the recording", "remarks on the recording"),
            Kind::Version => ("version of a library", "versions of libraries"),
            Kind::Other => ("other text", "other texts"),
        }
    }

    /// The word before the number.
    fn stem(self) -> &'static str {
        match self {
            Kind::Process => "process",
            Kind::Thread => "thread",
            Kind::Path => "path",
            Kind::Kernel => "kernel",
            Kind::Communicator => "communicator",
            Kind::Gpu => "gpu",
            Kind::Function | Kind::Range | Kind::Call | Kind::Other => "name",
            Kind::Command | Kind::Host | Kind::Date | Kind::Remark | Kind::Version => "text",
        }
    }
}

/// Number of replaced texts, by kind.
pub type Replaced = BTreeMap<Kind, usize>;

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
                true => known::library(module).is_some(),
                // Templates in headers may have the program's types.
                false => known::source(file).is_some() && !file.starts_with("/usr/include/"),
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

/// The names given so far.
#[derive(Default)]
struct Names {
    numbers: FxHashMap<(&'static str, String), usize>,
    counts: FxHashMap<&'static str, usize>,
    replaced: Replaced,
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
            ("ranges", "domain") if known::domain(text) => text.to_owned(),
            ("ranges", "domain") => self.numbered(Kind::Range, text),
            ("states", "call") if known::system_call(text) => text.to_owned(),
            _ => self.numbered(Kind::Other, text),
        }
    }

    /// The kind's word with a number, the same for the same text.
    fn numbered(&mut self, kind: Kind, text: &str) -> String {
        format!("{}-{}", kind.stem(), self.number(kind, text))
    }

    fn number(&mut self, kind: Kind, text: &str) -> usize {
        if let Some(known) = self.numbers.get(&(kind.stem(), text.to_owned())) {
            return *known;
        }
        let count = self.counts.entry(kind.stem()).or_default();
        *count += 1;
        self.numbers.insert((kind.stem(), text.to_owned()), *count);
        *self.replaced.entry(kind).or_default() += 1;
        *count
    }

    fn call(&mut self, text: &str, is_system: bool) -> String {
        let is_ours = text == trace::STACKS || trace::LockKind::ALL.iter().any(|kind| kind.name() == text);
        match is_ours || known::function(text, is_system) {
            true => text.to_owned(),
            false => self.numbered(Kind::Call, text),
        }
    }

    fn kernel(&mut self, text: &str) -> String {
        if known::kernel(text) {
            return text.to_owned();
        }
        // Rules tell kernels that exchange data between GPUs by this word.
        let of = if communicates(text) { "allreduce-" } else { "" };
        let name = self.numbered(Kind::Kernel, text);
        format!("{of}{name}")
    }

    fn module(&mut self, text: &str) -> String {
        match known::library(text) {
            Some(file) => file.to_owned(),
            None => self.path(text),
        }
    }

    fn source(&mut self, text: &str) -> String {
        known::source(text).unwrap_or_else(|| self.path(text))
    }

    /// A path's number with the end that names the language, and with the folder by which rules know a library's.
    fn path(&mut self, text: &str) -> String {
        let folder = if text.contains("-packages/") { "site-packages/" } else { "" };
        let end = text.rsplit_once('.').map_or("", |(_, end)| end);
        let end = words::LANGUAGES.iter().find(|known| **known == end);
        let name = self.numbered(Kind::Path, text);
        end.map_or_else(|| format!("{folder}{name}"), |end| format!("{folder}{name}.{end}"))
    }

    fn function(&mut self, text: &str, is_known: bool) -> String {
        // Code without a name has an address.
        let is_address =
            text.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match is_known || is_address || known::function(text, false) {
            true => text.to_owned(),
            false => self.numbered(Kind::Function, text),
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
    let (known, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        libraries.into_iter().partition(|(name, version)| known::versioned(name) && known::version(version));
    meta.libraries = known;
    count(Kind::Version, others.len());
    for text in [&mut meta.driver, &mut meta.runtime, &mut meta.source_version] {
        if !text.is_empty() && !known::version(text) {
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
