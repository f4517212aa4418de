//! Functions and lines from the machine's own ELF files: a spool is read on the machine that wrote it.

use super::libraries;
use super::symbolizer::{Symbol, Symbolizer};
use crate::demangle;
use addr2line::Loader;
use memmap2::Mmap;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Reads each file when the first stack leads through it.
#[derive(Default)]
pub(super) struct Symbols {
    files: FxHashMap<String, Option<Module>>,
    /// The user who owns the spool.
    owner: Option<u32>,
}

/// The most bytes that are read of a list of generated code.
const MOST_LISTED: u64 = 64 << 20;

/// How much older than its process a list may be, ns: file systems use a coarser clock.
const COARSE: i64 = 20_000_000;

impl Symbols {
    /// For a spool: only its owner's lists are read.
    pub fn of_owner(spool: &Path) -> Symbols {
        let owner = std::fs::metadata(spool).ok().map(|spool| spool.uid());
        Symbols { owner, ..Symbols::default() }
    }

    /// The list for profilers at a path; `None` unless it is the owner's own and was written since the process began.
    fn read_list(&self, path: &Path, began: i64) -> Option<Vec<u8>> {
        let found = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let file = File::open(path).ok()?;
        let opened = file.metadata().ok()?;
        let is_it = (found.dev(), found.ino()) == (opened.dev(), opened.ino());
        let written = opened.mtime().saturating_mul(1_000_000_000).saturating_add(opened.mtime_nsec());
        if !is_it || Some(opened.uid()) != self.owner || written < began.saturating_sub(COARSE) {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST_LISTED).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// The symbols of one file.
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

    fn list(&mut self, process: u32, began: i64) -> Vec<u8> {
        self.read_list(Path::new(&format!("/tmp/perf-{process}.map")), began).unwrap_or_default()
    }

    fn version(&mut self, module: &str) -> Option<String> {
        libraries::version_here(Path::new(module))
    }
}

impl Module {
    /// Reads a file; `None` unless it is an ELF file. A path in a spool could also name an endless device.
    fn open(path: &Path) -> Option<Module> {
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        // SAFETY: private and read-only; its bytes are read as untrusted input.
        let map = unsafe { Mmap::map(&File::open(path).ok()?).ok()? };
        let file = object::File::parse(&*map).ok()?;
        let has_lines = file.section_by_name(".debug_info").is_some_and(|section| section.size() > 0);
        let lines = if has_lines { Loader::new(path).ok() } else { None };
        Some(Module { functions: functions(&file), lines })
    }

    /// Gives `found` the functions at an address with their lines, inlined ones first; returns whether there are any.
    fn lines(&self, address: u64, found: &mut dyn FnMut(Symbol<'_>)) -> bool {
        let Some(mut frames) = self.lines.as_ref().and_then(|lines| lines.find_frames(address).ok()) else {
            return false;
        };
        let mut any = false;
        while let Ok(Some(frame)) = frames.next() {
            let Some(called) = &frame.function else { continue };
            let Ok(name) = called.raw_name() else { continue };
            let function = &demangle::function_in(&name, called.language);
            let (file, line) =
                frame.location.map_or(("", 0), |at| (at.file.unwrap_or(""), at.line.unwrap_or(0)));
            found(Symbol { function, file, line });
            any = true;
        }
        any
    }

    /// The function that an address lies in. A library without a full symbol table names only what it exports:
    /// functions between these have no name, rather than a neighbor's.
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
        // The release profile has no lines.
        let has_lines = cfg!(debug_assertions);
        assert!(!has_lines || file.ends_with("symbols.rs") && *line > 0, "{found:?}");
    }

    /// The program's load address, from the first line of its map.
    fn program_base() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        u64::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap()
    }

    #[test]
    fn a_file_that_is_not_elf_has_no_symbols() {
        let mut symbols = Symbols::default();
        for path in ["/dev/zero", "/nowhere", file!()] {
            symbols.symbolize(path, 1, &mut |symbol| panic!("{symbol:?}"));
        }
    }

    #[test]
    fn a_list_is_the_owners_own_file_and_no_older_than_its_process() {
        let folder = tempfile::tempdir().unwrap();
        let (list, link) = (folder.path().join("perf-7.map"), folder.path().join("perf-8.map"));
        std::fs::write(&list, "1000 10 f").unwrap();
        std::os::unix::fs::symlink(&list, &link).unwrap();
        let written = std::fs::metadata(&list).unwrap().mtime() * 1_000_000_000;
        let mut symbols = Symbols::of_owner(folder.path());
        assert_eq!(symbols.read_list(&list, written).unwrap(), b"1000 10 f");
        assert_eq!(symbols.read_list(&list, written + 2_000_000_000), None);
        assert_eq!(symbols.read_list(&link, written), None);
        assert_eq!(symbols.read_list(folder.path(), written), None);
        symbols.owner = symbols.owner.map(|owner| owner + 1);
        assert_eq!(symbols.read_list(&list, written), None);
    }
}
