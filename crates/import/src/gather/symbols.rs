//! Functions and lines of the machine's own ELF files: a spool is read where it was written.

use super::places::{Symbol, Symbolizer};
use crate::demangle;
use addr2line::Loader;
use memmap2::Mmap;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::path::Path;

/// Reads each file the first time a stack leads through it.
#[derive(Default)]
pub(super) struct Symbols {
    files: FxHashMap<String, Option<Module>>,
}

/// What one file says.
struct Module {
    functions: Vec<Function>,
    /// Its debugging information, if it has any.
    lines: Option<Loader>,
}

/// A function with a name, at `start..end`.
struct Function {
    start: u64,
    end: u64,
    name: String,
}

impl Symbolizer for Symbols {
    fn symbolize(&mut self, module: &str, address: u64, found: &mut dyn FnMut(Symbol<'_>)) {
        if !self.files.contains_key(module) {
            self.files.insert(module.to_owned(), Module::open(Path::new(module)));
        }
        if let Some(Some(module)) = self.files.get(module)
            && !module.lines(address, found)
            && let Some(function) = module.function(address)
        {
            let function = &demangle::function(function);
            found(Symbol { function, ..Symbol::default() });
        }
    }
}

impl Module {
    /// Reads a file; `None` for anything but an ELF file. What lies behind a path of a spool could
    /// also be a device that never ends.
    fn open(path: &Path) -> Option<Module> {
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        // SAFETY: private and read-only; what is in it is untrusted input.
        let map = unsafe { Mmap::map(&File::open(path).ok()?).ok()? };
        let file = object::File::parse(&*map).ok()?;
        let has_lines = file.section_by_name(".debug_info").is_some_and(|section| section.size() > 0);
        let lines = if has_lines { Loader::new(path).ok() } else { None };
        Some(Module { functions: functions(&file), lines })
    }

    /// The functions at an address with their lines, inlined ones first; whether there are any.
    fn lines(&self, address: u64, found: &mut dyn FnMut(Symbol<'_>)) -> bool {
        let Some(mut frames) = self.lines.as_ref().and_then(|lines| lines.find_frames(address).ok()) else {
            return false;
        };
        let mut any = false;
        while let Ok(Some(frame)) = frames.next() {
            let Some(name) = frame.function.as_ref().and_then(|name| name.raw_name().ok()) else { continue };
            let function = &demangle::function(&name);
            let (file, line) =
                frame.location.map_or(("", 0), |at| (at.file.unwrap_or(""), at.line.unwrap_or(0)));
            found(Symbol { function, file, line });
            any = true;
        }
        any
    }

    /// The function that an address lies in. A library without a full symbol table names only what
    /// it exports: whatever lies between has no name, rather than that of a neighbour.
    fn function(&self, address: u64) -> Option<&str> {
        let behind = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions[..behind].last()?;
        (address < function.end).then_some(&function.name)
    }
}

fn functions(file: &object::File<'_>) -> Vec<Function> {
    let mut functions: Vec<Function> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
        .filter_map(|symbol| {
            let (start, name) = (symbol.address(), symbol.name().ok()?.to_owned());
            Some(Function { start, end: start.saturating_add(symbol.size()), name })
        })
        .collect();
    functions.sort_by_key(|function| function.start);
    functions.dedup_by_key(|function| function.start);
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_test_is_found() {
        let program = std::env::current_exe().unwrap();
        let address = this_very_test_is_found as *const () as u64;
        let base = program_base();
        let (mut symbols, mut found) = (Symbols::default(), Vec::new());
        let path = program.to_string_lossy().into_owned();
        symbols.symbolize(&path, address - base, &mut |symbol| {
            found.push((symbol.function.to_owned(), symbol.file.to_owned(), symbol.line));
        });
        let (function, file, line) = found.last().unwrap();
        assert!(function.contains("this_very_test_is_found"), "{found:?}");
        assert!(file.ends_with("symbols.rs") && *line > 0, "{found:?}");
    }

    /// Where the program is loaded, as the first line of its map says.
    fn program_base() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        u64::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap()
    }

    #[test]
    fn what_is_no_elf_file_has_no_symbols() {
        let mut symbols = Symbols::default();
        for path in ["/dev/zero", "/nowhere", file!()] {
            symbols.symbolize(path, 1, &mut |symbol| panic!("{symbol:?}"));
        }
    }
}
