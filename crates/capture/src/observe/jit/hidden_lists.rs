//! Lists that a library keeps to itself: only the full table of symbols of its file has them, if that was left
//! in. Read for libraries alone that LLVM may be linked into, and once for each.

use crate::sys::file::File;
use crate::sys::fixed_text::FixedText;
use interpose::Loader;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The name of a list.
pub const LIST: &std::ffi::CStr = c"__jit_debug_descriptor";

/// Most libraries that are looked into.
const MOST: usize = 4;

/// Addresses of a library and of the list in its file.
struct ReadLibrary {
    /// Where it is loaded; 0 for none.
    base: AtomicUsize,
    /// Address of its list; 0 for none.
    list: AtomicUsize,
}

static READ_LIBRARIES: [ReadLibrary; MOST] =
    [const { ReadLibrary { base: AtomicUsize::new(0), list: AtomicUsize::new(0) } }; MOST];

/// A library that LLVM may be linked into.
pub struct Library {
    base: usize,
    path: FixedText<1024>,
}

fn may_have_list(library: &interpose::Library<'_>) -> bool {
    library.name().windows(4).any(|part| part.eq_ignore_ascii_case(b"llvm"))
}

/// Facts about the library that is loaded there.
fn known(base: usize) -> Option<&'static ReadLibrary> {
    READ_LIBRARIES.iter().find(|known| known.base.load(Acquire) == base)
}

/// Calls `visit` with the lists of loaded libraries that are known.
pub fn each_known(loader: &Loader, visit: &mut dyn FnMut(usize)) {
    loader.each_library(&mut |loaded| {
        if may_have_list(&loaded)
            && let Some(known) = known(loaded.base)
        {
            visit(known.list.load(Relaxed));
        }
    });
}

/// A loaded library whose file was not read, while there is room for what it has. No file is opened: a thread that loads a
/// library waits.
#[inline(never)]
pub fn unknown(loader: &Loader) -> Option<Library> {
    known(0)?;
    let mut found = None;
    loader.each_library(&mut |loaded| {
        if found.is_none() && may_have_list(&loaded) && known(loaded.base).is_none() {
            found = FixedText::of(&[loaded.path, b"\0"]).map(|path| Library { base: loaded.base, path });
        }
    });
    found
}

/// Reads a library's file; the address of its list, 0 for none.
#[inline(never)]
pub fn learn(library: &Library) -> usize {
    let list = read(library).unwrap_or(0);
    if let Some(free) = READ_LIBRARIES.iter().find(|known| known.base.load(Relaxed) == 0) {
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
