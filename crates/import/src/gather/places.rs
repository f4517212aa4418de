//! Turns return addresses and Python frames into stacks of source places.

use super::generated_code::{GeneratedCode, MODULE};
use super::libraries;
use super::symbolizer::{Symbol, Symbolizer};
use crate::stacks::Stacks;
use rustc_hash::{FxHashMap, FxHashSet};
use spool::Module;
use trace::{Frame, FrameId, StackId, Sym, Trace};

/// A library and the addresses where a process loaded it.
struct LoadedLibrary {
    path: Sym,
    base: u64,
    start: u64,
    end: u64,
    /// When it was seen first, ns.
    seen: i64,
}

/// Finds the frames of stacks, with the modules of one process at a time.
pub(super) struct Places<'a> {
    symbolizer: &'a mut dyn Symbolizer,
    stacks: Stacks,
    /// In the order in which they were seen.
    modules: Vec<LoadedLibrary>,
    /// The code that the process generated.
    made: GeneratedCode,
    /// The process and its start, until its list is read.
    unlisted: Option<(u32, i64)>,
    /// Every module of any process.
    libraries: FxHashSet<Sym>,
    /// Frames at an address of a module, innermost first.
    frames: FxHashMap<(Sym, u64), Vec<FrameId>>,
}

/// The owner of a native frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameOwner {
    /// The capture library.
    Holdup,
    /// The Python interpreter: Python's frames replace it.
    Interpreter,
    /// The program.
    Program,
}

impl<'a> Places<'a> {
    pub fn new(symbolizer: &'a mut dyn Symbolizer) -> Places<'a> {
        Places {
            symbolizer,
            stacks: Stacks::default(),
            modules: Vec::new(),
            made: GeneratedCode::default(),
            unlisted: None,
            libraries: FxHashSet::default(),
            frames: FxHashMap::default(),
        }
    }

    /// Records the versions of the libraries that any process loaded.
    pub fn versions(&mut self, trace: &mut Trace) {
        let mut paths: Vec<String> = self.libraries.iter().map(|path| trace.text(*path).to_owned()).collect();
        paths.sort_unstable();
        for path in paths.iter().filter(|path| libraries::is_known(path)) {
            if let Some(version) = self.symbolizer.version(path) {
                libraries::add(&mut trace.meta, path, &version);
            }
        }
    }

    /// Starts the next process, which began at `began`, ns since 1970.
    pub fn next_process(&mut self, pid: u32, began: i64) {
        self.modules.clear();
        self.made = GeneratedCode::default();
        self.unlisted = Some((pid, began));
        // An address outside all libraries means something else in each process.
        self.frames.retain(|(path, _), _| !path.is_empty());
    }

    /// Whether the process runs CUDA Fortran: its run-time library is loaded.
    pub fn is_fortran(&self, trace: &Trace) -> bool {
        let is_it = |loaded: &LoadedLibrary| {
            let file = trace.text(loaded.path).rsplit('/').next().unwrap_or_default();
            ["libcudafor", "libnvf."].iter().any(|start| file.starts_with(start))
        };
        self.modules.iter().any(is_it)
    }

    /// Adds code that the process generated; false where it fits no object.
    pub fn made(&mut self, record: spool::Made, bytes: &[u8]) -> bool {
        self.made.piece(record, bytes)
    }

    /// Adds a module; one that was seen later at the same address replaces the earlier.
    pub fn module(&mut self, path: Sym, module: Module) {
        let Module { base, start, end, seen } = module;
        let same = |known: &LoadedLibrary| (known.path, known.base) == (path, base);
        if !self.modules.iter().any(same) {
            self.libraries.insert(path);
            let at = self.modules.partition_point(|known| known.seen <= seen);
            self.modules.insert(at, LoadedLibrary { path, base, start, end, seen });
        }
    }

    /// The row of a stack of return addresses and of Python's file, function and line, each innermost first. Python's
    /// frames replace the interpreter's own functions and everything outside them.
    pub fn stack(&mut self, trace: &mut Trace, native: &[u64], python: &[(Sym, Sym, u32)]) -> StackId {
        let mut innermost_first = Vec::new();
        for address in native {
            // A return address is after the call; the frame is that of the call itself.
            let address = address.wrapping_sub(1);
            let (path, offset) = self.locate(address);
            match belongs(trace.text(path)) {
                FrameOwner::Holdup => continue,
                FrameOwner::Interpreter if !python.is_empty() => break,
                _ => innermost_first.extend(self.native(trace, path, offset)),
            }
        }
        for &(file, function, line) in python {
            let frame = Frame { function, file, line, module: Sym::EMPTY };
            innermost_first.push(self.stacks.frame(trace, frame));
        }
        innermost_first.reverse();
        self.stacks.stack(trace, &innermost_first)
    }

    /// The module an address lies in, and its virtual address there.
    fn locate(&self, address: u64) -> (Sym, u64) {
        let mut latest_first = self.modules.iter().rev();
        let module = latest_first.find(|module| (module.start..module.end).contains(&address));
        module.map_or((Sym::EMPTY, address), |module| (module.path, address.wrapping_sub(module.base)))
    }

    fn native(&mut self, trace: &mut Trace, path: Sym, address: u64) -> Vec<FrameId> {
        if let Some(frames) = self.frames.get(&(path, address)) {
            return frames.clone();
        }
        let module = trace.text(path).to_owned();
        let (stacks, mut frames) = (&mut self.stacks, Vec::new());
        let is_made = module.is_empty();
        let within = if is_made { trace.strings.intern(MODULE) } else { path };
        let mut keep = |symbol: Symbol<'_>| {
            let (function, file) = (trace.strings.intern(symbol.function), trace.strings.intern(symbol.file));
            frames.push(stacks.frame(trace, Frame { function, file, line: symbol.line, module: within }));
        };
        if is_made {
            if let Some((pid, began)) = self.unlisted.take() {
                self.made.list(&self.symbolizer.list(pid, began));
            }
            self.made.symbolize(address, &mut keep);
        } else {
            self.symbolizer.symbolize(&module, address, &mut keep);
        }
        if frames.is_empty() {
            let function = trace.strings.intern(&format!("0x{address:x}"));
            frames.push(stacks.frame(trace, Frame { function, module: path, ..Frame::default() }));
        }
        self.frames.insert((path, address), frames.clone());
        frames
    }
}

fn belongs(path: &str) -> FrameOwner {
    let file = path.rsplit('/').next().unwrap_or(path);
    if file.starts_with("libholdup_capture") {
        FrameOwner::Holdup
    } else if file.starts_with("libpython") || is_python_program(file) {
        FrameOwner::Interpreter
    } else {
        FrameOwner::Program
    }
}

/// `python`, `python3`, `python3.12` …
fn is_python_program(file: &str) -> bool {
    file.strip_prefix("python")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}
