//! Return addresses and Python frames into stacks of source places.

use crate::stacks::Stacks;
use rustc_hash::FxHashMap;
use spool::Module;
use trace::{Frame, FrameId, StackId, Sym, Trace};

/// A function in a library or program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Symbol<'a> {
    /// Its name; empty for unknown.
    pub function: &'a str,
    /// Its source file; empty for unknown.
    pub file: &'a str,
    /// The line, from 1; 0 for unknown.
    pub line: u32,
}

/// Finds functions by address.
pub(super) trait Symbolizer {
    /// Shows the functions at `address`, a virtual address of the ELF file at `module`: the innermost
    /// first, then those it is inlined into. Shows nothing when nothing is known.
    fn symbolize(&mut self, module: &str, address: u64, found: &mut dyn FnMut(Symbol<'_>));
}

/// Knows no symbols: places are a library and an address in it.
pub(super) struct NoSymbols;

impl Symbolizer for NoSymbols {
    fn symbolize(&mut self, _: &str, _: u64, _: &mut dyn FnMut(Symbol<'_>)) {}
}

/// A library where a process had it loaded.
struct Loaded {
    path: Sym,
    base: u64,
    start: u64,
    end: u64,
}

/// Finds the frames of stacks; modules are those of one process at a time.
pub(super) struct Places<'a> {
    symbolizer: &'a mut dyn Symbolizer,
    stacks: Stacks,
    modules: Vec<Loaded>,
    /// Frames at an address of a module, innermost first.
    frames: FxHashMap<(Sym, u64), Vec<FrameId>>,
}

/// What a native frame belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belongs {
    /// To the capture library.
    Holdup,
    /// To the Python interpreter, whose frames stand in its stead.
    Interpreter,
    /// To the program.
    Program,
}

impl<'a> Places<'a> {
    pub fn new(symbolizer: &'a mut dyn Symbolizer) -> Places<'a> {
        Places { symbolizer, stacks: Stacks::default(), modules: Vec::new(), frames: FxHashMap::default() }
    }

    /// What follows is of another process.
    pub fn next_process(&mut self) {
        self.modules.clear();
    }

    /// Learns of a module; one seen later at the same place has replaced the earlier.
    pub fn module(&mut self, path: Sym, module: &Module) {
        let same = |known: &Loaded| (known.path, known.base) == (path, module.base);
        if !self.modules.iter().any(same) {
            let Module { base, start, end, .. } = *module;
            self.modules.push(Loaded { path, base, start, end });
        }
    }

    /// The row of a stack, of return addresses and of Python's file, function and line, each
    /// innermost first. The interpreter's own functions are left out in favour of what they
    /// interpret, and what is outside of them.
    pub fn stack(&mut self, trace: &mut Trace, native: &[u64], python: &[(Sym, Sym, u32)]) -> StackId {
        let mut innermost_first = Vec::new();
        for address in native {
            // A return address lies behind the call; the call itself is wanted.
            let address = address.wrapping_sub(1);
            let (path, offset) = self.locate(address);
            match belongs(trace.text(path)) {
                Belongs::Holdup => continue,
                Belongs::Interpreter if !python.is_empty() => break,
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
        if !module.is_empty() {
            self.symbolizer.symbolize(&module, address, &mut |symbol: Symbol<'_>| {
                let (function, file) =
                    (trace.strings.intern(symbol.function), trace.strings.intern(symbol.file));
                frames.push(stacks.frame(trace, Frame { function, file, line: symbol.line, module: path }));
            });
        }
        if frames.is_empty() {
            let function = trace.strings.intern(&format!("0x{address:x}"));
            frames.push(stacks.frame(trace, Frame { function, module: path, ..Frame::default() }));
        }
        self.frames.insert((path, address), frames.clone());
        frames
    }
}

fn belongs(path: &str) -> Belongs {
    let file = path.rsplit('/').next().unwrap_or(path);
    if file.starts_with("libholdup_capture") {
        Belongs::Holdup
    } else if file.starts_with("libpython") || is_python_program(file) {
        Belongs::Interpreter
    } else {
        Belongs::Program
    }
}

/// `python`, `python3`, `python3.12` …
fn is_python_program(file: &str) -> bool {
    file.strip_prefix("python")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}
