//! Lists that a library keeps to itself: only the full table of symbols of its file has them, if that was left
//! in. Read for libraries alone that LLVM may be linked into, and once for each.

use super::LIST;
use crate::file::File;
use crate::line::Line;
use interpose::Loader;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Most libraries that are looked into.
const MOST: usize = 4;

/// What the file of a library has.
struct Known {
    /// Where it is loaded; 0 for none.
    base: AtomicUsize,
    /// Address of its list; 0 for none.
    list: AtomicUsize,
}

static KNOWN: [Known; MOST] =
    [const { Known { base: AtomicUsize::new(0), list: AtomicUsize::new(0) } }; MOST];

/// A library whose file is to be read.
struct Library {
    base: usize,
    path: Line<1024>,
}

/// The libraries that LLVM may be linked into.
pub struct Libraries([Option<Library>; MOST]);

/// Those that are loaded. No file is opened: a thread that loads a library waits.
pub fn libraries(loader: &Loader) -> Libraries {
    let mut libraries = [const { None }; MOST];
    let mut places = libraries.iter_mut();
    loader.each_library(&mut |loaded| {
        let may_have = loaded.name().windows(4).any(|part| part.eq_ignore_ascii_case(b"llvm"));
        if may_have
            && let Some(path) = Line::of(&[loaded.path, b"\0"])
            && let Some(library) = places.next()
        {
            *library = Some(Library { base: loaded.base, path });
        }
    });
    Libraries(libraries)
}

/// What is known of a library.
fn known(library: &Library) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.base.load(Acquire) == library.base)
}

/// Calls `visit` with the list of each library whose file was read.
pub fn each_known(Libraries(libraries): &Libraries, visit: &mut dyn FnMut(usize)) {
    libraries.iter().flatten().filter_map(known).for_each(|known| visit(known.list.load(Relaxed)));
}

/// Reads the files of the other ones, and calls `visit` with their lists.
pub fn each_unknown(Libraries(libraries): &Libraries, visit: &mut dyn FnMut(usize)) {
    let unknown = libraries.iter().flatten().filter(|library| known(library).is_none());
    unknown.for_each(|library| visit(learn(library)));
}

fn learn(library: &Library) -> usize {
    let list = read(library).unwrap_or(0);
    if let Some(free) = KNOWN.iter().find(|known| known.base.load(Relaxed) == 0) {
        free.list.store(list, Relaxed);
        free.base.store(library.base, Release);
    }
    list
}

/// The address of a library's list, as its file has it.
fn read(library: &Library) -> Option<usize> {
    let path = library.path.path()?;
    // SAFETY: the path ends in a zero byte.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    let file = File(file);
    let size = file.size().filter(|size| (64..=u32::MAX as usize).contains(size))?;
    // SAFETY: private and read-only: nobody else sees it.
    let map =
        unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ, libc::MAP_PRIVATE, file.0, 0) };
    if map == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: mapped so far. A file that is cut short meanwhile is one that the program runs code from.
    let found = list(unsafe { std::slice::from_raw_parts(map.cast::<u8>(), size) });
    // SAFETY: mapped above, and no longer used.
    unsafe { libc::munmap(map, size) };
    found.map(|value| library.base.wrapping_add(value))
}

/// The virtual address of the list in an ELF file.
fn list(bytes: &[u8]) -> Option<usize> {
    const SYMBOLS: u32 = 2;
    let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
    let half = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let (sections, count) = (word(40)?, usize::from(u16::from_le_bytes(*bytes.get(60..)?.first_chunk()?)));
    let section = |at: usize| sections.checked_add(at.checked_mul(64)?);
    let at = (0..count).filter_map(section).find(|at| half(at + 4) == Some(SYMBOLS))?;
    let (symbols, length) = (word(at + 24)?, word(at + 32)?);
    let names = section(half(at + 40)? as usize)?;
    let (names, names_length) = (word(names + 24)?, word(names + 32)?);
    let names = bytes.get(names..names.checked_add(names_length)?)?;
    let symbols = bytes.get(symbols..symbols.checked_add(length)?)?;
    let is_it = |symbol: &&[u8]| {
        let name = symbol.first_chunk().map_or(0, |name| u32::from_le_bytes(*name) as usize);
        names.get(name..).is_some_and(|rest| rest.starts_with(LIST.to_bytes_with_nul()))
    };
    let symbol = symbols.chunks_exact(24).find(is_it)?;
    let (section, value) = (symbol.get(6..)?.first_chunk()?, symbol.get(8..)?.first_chunk()?);
    (u16::from_le_bytes(*section) != 0).then_some(u64::from_le_bytes(*value) as usize)
}
