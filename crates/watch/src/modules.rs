//! The files that a process executes, where they are loaded, and what is read of them: symbols and unwind tables.

use crate::proc::{self, Mapping};
use memmap2::Mmap;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::ops::{Deref, Range};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A part of a mapped file.
#[derive(Clone, Default)]
pub struct Part {
    map: Option<Arc<Mmap>>,
    range: Range<usize>,
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_ref().and_then(|map| map.get(self.range.clone())).unwrap_or_default()
    }
}

/// A section of an ELF file: its virtual addresses and its bytes.
pub struct Section {
    /// Virtual addresses in the file.
    pub addresses: Range<u64>,
    /// Its bytes.
    pub bytes: Part,
}

/// An ELF file.
pub struct Image {
    map: Arc<Mmap>,
    /// Its segments: place in the file, length there, virtual address.
    segments: Vec<(u64, u64, u64)>,
}

/// Code of a file in the memory of a process.
pub struct Module {
    /// Where it lies, and the path.
    pub mapping: Mapping,
    /// The address that the file's virtual address 0 is loaded at.
    pub base: u64,
    /// The file; `None` if it cannot be read, or is another one now.
    pub image: Option<Arc<Image>>,
}

/// The modules of one process.
#[derive(Default)]
pub struct Modules {
    list: Vec<Module>,
    images: FxHashMap<(String, u64), Option<Arc<Image>>>,
}

impl Modules {
    /// Reads the map of a process again; returns the new modules' indices. Those that are gone stay known: their
    /// addresses mean what they meant.
    pub fn refresh(&mut self, pid: i32) -> Range<usize> {
        let before = self.list.len();
        let text = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        for mapping in proc::code(&text) {
            if !self.list.iter().any(|known| known.mapping == mapping) {
                self.add(pid, mapping);
            }
        }
        before..self.list.len()
    }

    fn add(&mut self, pid: i32, mapping: Mapping) {
        let key = (mapping.path.clone(), mapping.inode);
        let image =
            self.images.entry(key).or_insert_with(|| Image::open(pid, &mapping).map(Arc::new)).clone();
        let base = image.as_ref().and_then(|image| image.base(&mapping)).unwrap_or(mapping.start);
        self.list.push(Module { mapping, base, image });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// A module by its index.
    pub fn get(&self, index: usize) -> Option<&Module> {
        self.list.get(index)
    }

    /// Whether an address lies in a module.
    pub fn contains(&self, address: u64) -> bool {
        self.list.iter().any(|module| (module.mapping.start..module.mapping.end).contains(&address))
    }

    /// The module that may contain a Python interpreter and exports the symbol `_PyRuntime`, the latest first.
    pub fn interpreter(&self) -> Option<&Module> {
        let named = |module: &&Module| {
            let path = &module.mapping.path;
            path.rsplit('/').next().is_some_and(|file| file.contains("python"))
        };
        let exports = |module: &&Module| {
            module.image.as_ref().is_some_and(|image| image.symbol("_PyRuntime").is_some())
        };
        let first = self.list.first().filter(|module| !named(module)).filter(exports);
        self.list.iter().rev().filter(named).find(exports).or(first)
    }
}

impl Module {
    /// The address of a public symbol in the process.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        let address = self.image.as_ref()?.symbol(name)?;
        usize::try_from(self.base.wrapping_add(address)).ok()
    }
}

impl Image {
    /// Opens the file of a mapping, as the process sees it.
    fn open(pid: i32, mapping: &Mapping) -> Option<Image> {
        let within = PathBuf::from(format!("/proc/{pid}/root{}", mapping.path));
        [Path::new(&mapping.path), &within].into_iter().find_map(|path| Image::at(path, mapping.inode))
    }

    fn at(path: &Path, inode: u64) -> Option<Image> {
        let known = std::fs::metadata(path).ok()?;
        if !known.is_file() || known.ino() != inode {
            return None;
        }
        // SAFETY: private and read-only; its bytes are read as untrusted input.
        let map = unsafe { Mmap::map(&File::open(path).ok()?).ok()? };
        let file = object::File::parse(&*map).ok()?;
        let segments = file
            .segments()
            .map(|segment| (segment.file_range().0, segment.file_range().1, segment.address()));
        Some(Image { segments: segments.collect(), map: Arc::new(map) })
    }

    /// The address that virtual address 0 is loaded at, if this part of the file is at its place in memory.
    fn base(&self, mapping: &Mapping) -> Option<u64> {
        let within = |(start, length, _): &&(u64, u64, u64)| {
            // Mappings begin at pages: at or before their segment.
            start.saturating_add(*length) > mapping.offset && mapping.offset.saturating_add(4096) > *start
        };
        let candidates = self.segments.iter().filter(within);
        let (start, _, address) = candidates.max_by_key(|(start, ..)| *start)?;
        Some(mapping.start.wrapping_sub(mapping.offset).wrapping_sub(address.wrapping_sub(*start)))
    }

    fn parsed(&self) -> Option<object::File<'_>> {
        object::File::parse(&**self.map).ok()
    }

    /// The virtual address of a symbol that others may use.
    fn symbol(&self, name: &str) -> Option<u64> {
        let file = self.parsed()?;
        let mut symbols = file.dynamic_symbols();
        let found = symbols.find(|symbol| symbol.is_definition() && symbol.name() == Ok(name))?;
        Some(found.address())
    }

    /// A section that is not compressed.
    pub fn section(&self, name: &str) -> Option<Section> {
        let file = self.parsed()?;
        let section = file.section_by_name(name)?;
        let (start, length) = section.file_range()?;
        let start = usize::try_from(start).ok()?;
        let range = start..start.checked_add(usize::try_from(length).ok()?)?;
        self.map.get(range.clone())?;
        let addresses = section.address()..section.address().checked_add(section.size())?;
        Some(Section { addresses, bytes: Part { map: Some(self.map.clone()), range } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not inlined: a test asks for its address.
    #[inline(never)]
    fn here() -> usize {
        here as *const () as usize
    }

    #[test]
    fn this_process_is_found_with_its_base_and_tables() {
        let mut modules = Modules::default();
        let fresh = modules.refresh(std::process::id() as i32);
        assert!(!fresh.is_empty() && modules.refresh(std::process::id() as i32).is_empty());
        assert!(modules.contains(here() as u64) && !modules.contains(8));
        let program = modules
            .list
            .iter()
            .find(|module| (module.mapping.start..module.mapping.end).contains(&(here() as u64)));
        let program = program.expect("this program");
        let image = program.image.as_ref().expect("it can be read");
        let file = image.parsed().expect("ELF");
        let at = here() as u64 - program.base;
        let symbol = file.symbols().find(|symbol| symbol.address() == at).expect("a symbol");
        assert!(symbol.name().is_ok_and(|name| name.contains("here")), "{:?}", symbol.name());
        assert!(image.section(".eh_frame").is_some_and(|section| !section.bytes.is_empty()));
        assert!(image.section(".no_such").is_none() && modules.interpreter().is_none());
    }

    #[test]
    fn symbols_of_a_library() {
        let mut modules = Modules::default();
        modules.refresh(std::process::id() as i32);
        let is_libc = |module: &&Module| module.mapping.path.contains("/libc.so");
        let libc = modules.list.iter().find(is_libc).expect("the C library");
        assert_eq!(libc.symbol("getpid"), Some(libc::getpid as *const () as usize));
    }
}
