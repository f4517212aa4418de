//! Numbers in place of names, and what stays of a name.

use super::public;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
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

/// Ends of files that name a language.
const LANGUAGES: [&str; 14] =
    ["py", "cu", "cpp", "cc", "cxx", "c", "h", "hpp", "cuh", "jl", "rs", "pyx", "so", "ipynb"];

/// The names given so far.
#[derive(Default)]
pub(super) struct Names {
    pub numbers: FxHashMap<(&'static str, String), usize>,
    pub counts: FxHashMap<&'static str, usize>,
    pub replaced: Replaced,
}

impl Names {
    /// The kind's word with a number, the same for the same text.
    pub fn numbered(&mut self, kind: Kind, text: &str) -> String {
        format!("{}-{}", kind.stem(), self.number(kind, text))
    }

    pub fn number(&mut self, kind: Kind, text: &str) -> usize {
        if let Some(known) = self.numbers.get(&(kind.stem(), text.to_owned())) {
            return *known;
        }
        let count = self.counts.entry(kind.stem()).or_default();
        *count += 1;
        self.numbers.insert((kind.stem(), text.to_owned()), *count);
        *self.replaced.entry(kind).or_default() += 1;
        *count
    }

    pub fn call(&mut self, text: &str, is_system: bool) -> String {
        let is_ours = text == trace::STACKS || trace::LockKind::ALL.iter().any(|kind| kind.name() == text);
        match is_ours || public::function(text, is_system) {
            true => text.to_owned(),
            false => self.numbered(Kind::Call, text),
        }
    }

    pub fn kernel(&mut self, text: &str) -> String {
        if public::kernel(text) {
            return text.to_owned();
        }
        // Rules tell kernels that exchange data between GPUs by this word.
        let of = if communicates(text) { "allreduce-" } else { "" };
        let name = self.numbered(Kind::Kernel, text);
        format!("{of}{name}")
    }

    pub fn module(&mut self, text: &str) -> String {
        match public::library(text) {
            Some(file) => file.to_owned(),
            None => self.path(text),
        }
    }

    pub fn source(&mut self, text: &str) -> String {
        public::source(text).unwrap_or_else(|| self.path(text))
    }

    /// A path's number with the end that names the language, and with the folder by which rules know a library's.
    fn path(&mut self, text: &str) -> String {
        let folder = if text.contains("-packages/") { "site-packages/" } else { "" };
        let end = text.rsplit_once('.').map_or("", |(_, end)| end);
        let end = LANGUAGES.iter().find(|known| **known == end);
        let name = self.numbered(Kind::Path, text);
        end.map_or_else(|| format!("{folder}{name}"), |end| format!("{folder}{name}.{end}"))
    }

    pub fn function(&mut self, text: &str, is_known: bool) -> String {
        // Code without a name has an address.
        let is_address =
            text.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match is_known || is_address || public::function(text, false) {
            true => text.to_owned(),
            false => self.numbered(Kind::Function, text),
        }
    }
}
