//! Which loader a program has: that of the file that is executed, or of its interpreter where the file is a script.

use crate::sys::file::File;
use crate::sys::fixed_text::FixedText;
use libc::{c_char, c_int};
use std::ffi::CStr;
use std::mem::ManuallyDrop;

/// A program that is executed.
#[derive(Clone, Copy)]
pub enum Image {
    /// By its path from an open folder, with the flags of `execveat`.
    At(c_int, *const c_char, c_int),
    /// By a name that is looked for in the folders of `PATH`, unless it has a slash.
    Searched(*const c_char),
}

/// How often a script's interpreter is a script: as often as the kernel goes on.
const MOST_SCRIPTS: usize = 5;
/// Bytes of a file's beginning, all that the kernel reads of a script's first line.
const HEAD: usize = 256;
/// Most headers of a file that are looked at. Loaders are named in one of the first.
const MOST_HEADERS: u64 = 64;
/// Longest path of a file that is searched.
const MOST_PATH: usize = 1024;
/// The folders where there is no `PATH`, of the C library.
const FOLDERS: &[u8] = b"/bin:/usr/bin";

impl Image {
    /// A program by its path.
    pub fn path(path: *const c_char) -> Image {
        Image::At(libc::AT_FDCWD, path, 0)
    }

    /// A program in an open file.
    pub fn open(file: c_int) -> Image {
        Image::At(file, c"".as_ptr(), libc::AT_EMPTY_PATH)
    }

    /// Whether its loader cannot load this library. False if that cannot be found out.
    ///
    /// # Safety
    ///
    /// A path or name is a text that ends in a zero byte, or null.
    pub unsafe fn is_foreign(self) -> bool {
        let text = |text: *const c_char| {
            // SAFETY: the caller's promise.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
        };
        let is_foreign = match self {
            Image::Searched(name) => text(name).and_then(search).and_then(|file| has_foreign_loader(&file)),
            Image::At(folder, path, flags) => text(path).and_then(|path| {
                if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
                    // Not closed: it is the program's.
                    return has_foreign_loader(&ManuallyDrop::new(File(folder)));
                }
                let links = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
                open_at(folder, path, links).and_then(|file| has_foreign_loader(&file))
            }),
        };
        is_foreign.unwrap_or(false)
    }
}

fn open(path: &CStr) -> Option<File> {
    open_at(libc::AT_FDCWD, path, true)
}

/// Opens a file that can be executed, by its path from an open folder; where that is a link, only if `links` is set.
fn open_at(folder: c_int, path: &CStr, links: bool) -> Option<File> {
    if !is_executable(folder, path) {
        return None;
    }
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let flags = if links { flags } else { flags | libc::O_NOFOLLOW };
    // SAFETY: the path ends in a zero byte.
    let file = unsafe { libc::openat(folder, path.as_ptr(), flags) };
    (file >= 0).then_some(File(file))
}

/// Whether the path is of a plain file that somebody may execute. Opening another one may have effects.
fn is_executable(folder: c_int, path: &CStr) -> bool {
    // SAFETY: all-zero bytes are a valid value.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends in a zero byte; writes the struct that it is given.
    let is_there = unsafe { libc::fstatat(folder, path.as_ptr(), &mut found, 0) } == 0;
    is_there && found.st_mode & libc::S_IFMT == libc::S_IFREG && found.st_mode & 0o111 != 0
}

/// Looks for a file as `execvp` does.
fn search(name: &CStr) -> Option<File> {
    if name.to_bytes().contains(&b'/') {
        return open(name);
    }
    // SAFETY: a name that ends in a zero byte. A program that changes `PATH` on another thread breaks `execvp`, too.
    let path = unsafe { libc::getenv(c"PATH".as_ptr()).as_ref() };
    // SAFETY: the C library's strings end in a zero byte.
    let path = path.map_or(FOLDERS, |path| unsafe { CStr::from_ptr(path) }.to_bytes());
    for folder in path.split(|byte| *byte == b':') {
        let between: &[u8] = if folder.is_empty() { b"" } else { b"/" };
        let path = FixedText::<MOST_PATH>::of(&[folder, between, name.to_bytes_with_nul()])?;
        let path = path.path()?;
        if is_executable(libc::AT_FDCWD, path) {
            return open(path);
        }
    }
    None
}

/// Whether the loader of a file, or of its interpreter, cannot load this library; `None` if it has none.
fn has_foreign_loader(file: &File) -> Option<bool> {
    let mut room = [0; HEAD];
    let mut head = read(file, 0, &mut room)?;
    if !head.starts_with(b"#!") {
        return loader_is_foreign(file, head);
    }
    for _ in 0..MOST_SCRIPTS {
        let file = interpreter(head)?;
        head = read(&file, 0, &mut room)?;
        if !head.starts_with(b"#!") {
            return loader_is_foreign(&file, head);
        }
    }
    None
}

/// The file of a script's interpreter, which its first line names.
fn interpreter(head: &[u8]) -> Option<File> {
    let line = head.get(2..)?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t' | 0)).filter(|word| !word.is_empty());
    let path = FixedText::<HEAD>::of(&[words.next()?, b"\0"])?;
    open(path.path()?)
}

/// Reads from a place of a file.
fn read<'a>(file: &File, at: u64, room: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: the kernel writes into the room at most.
    let length = unsafe { libc::pread(file.0, room.as_mut_ptr().cast(), room.len(), at.try_into().ok()?) };
    room.get(..usize::try_from(length).ok()?)
}

/// Where an ELF file of a class has what: see `elf(5)`.
struct Layout {
    /// In its header: where the program's headers are, how long each is and how many there are.
    headers: usize,
    size: usize,
    count: usize,
    /// In a program's header: where what it describes is, and how long.
    offset: usize,
    length: usize,
    /// Bytes of an address.
    word: usize,
}

const ELF32: Layout = Layout { headers: 28, size: 42, count: 44, offset: 4, length: 16, word: 4 };
const ELF64: Layout = Layout { headers: 32, size: 54, count: 56, offset: 8, length: 32, word: 8 };
/// Bytes of a program's header, of either class at most.
const HEADER: usize = 56;

/// Whether an ELF file names a loader that cannot load this library; `None` if it names none.
fn loader_is_foreign(file: &File, head: &[u8]) -> Option<bool> {
    let layout = match head.strip_prefix(b"\x7fELF")?.first()? {
        1 => &ELF32,
        _ => &ELF64,
    };
    let is_for_this_processor = spool::is_for_this_processor(head)?;
    let headers = number(head, layout.headers, layout.word)?;
    let (size, count) = (number(head, layout.size, 2)?, number(head, layout.count, 2)?);
    for index in 0..count.min(MOST_HEADERS) {
        let at = headers.checked_add(index * size)?;
        let mut room = [0; HEADER];
        let start = usize::try_from(at).ok()?;
        let header = match head.get(start..start.checked_add(HEADER)?) {
            Some(header) => header,
            None => read(file, at, &mut room)?,
        };
        if number(header, 0, 4)? != u64::from(libc::PT_INTERP) {
            continue;
        }
        let mut room = [0; HEAD];
        let (at, length) =
            (number(header, layout.offset, layout.word)?, number(header, layout.length, layout.word)?);
        let path = read(file, at, room.get_mut(..usize::try_from(length).ok()?)?)?;
        return Some(!is_for_this_processor || !spool::is_loader_of_glibc(path));
    }
    None
}

/// A number of so many bytes, the lowest first as all of these machines have it.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::os::fd::IntoRawFd;

    const X86_64: u16 = 62;
    const ARM_64: u16 = 183;

    /// An ELF file whose second header names a loader, if it has one.
    fn program(class: u8, machine: u16, loader: Option<&str>) -> Vec<u8> {
        let layout = if class == 1 { ELF32 } else { ELF64 };
        let mut bytes = vec![0; 512];
        let mut put = |at: usize, number: u64, length: usize| {
            bytes[at..at + length].copy_from_slice(&number.to_le_bytes()[..length]);
        };
        put(0, u64::from_le_bytes([0x7f, b'E', b'L', b'F', class, 1, 1, 0]), 8);
        put(18, machine.into(), 2);
        put(layout.headers, 64, layout.word);
        put(layout.size, HEADER as u64, 2);
        put(layout.count, 2, 2);
        let second = 64 + HEADER;
        put(64, libc::PT_LOAD.into(), 4);
        put(second, if loader.is_some() { libc::PT_INTERP } else { libc::PT_NOTE }.into(), 4);
        put(second + layout.offset, 256, layout.word);
        put(second + layout.length, loader.unwrap_or_default().len() as u64 + 1, layout.word);
        bytes[256..256 + loader.unwrap_or_default().len()]
            .copy_from_slice(loader.unwrap_or_default().as_bytes());
        bytes
    }

    fn is_foreign(bytes: &[u8]) -> io::Result<Option<bool>> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        Ok(has_foreign_loader(&File(file.into_raw_fd())))
    }

    #[test]
    fn loaders_that_cannot_load_this_library() -> io::Result<()> {
        let (own, other) = if cfg!(target_arch = "aarch64") { (ARM_64, X86_64) } else { (X86_64, ARM_64) };
        let (glibc, musl) = (Some("/lib64/ld-linux-x86-64.so.2"), Some("/lib/ld-musl-x86_64.so.1"));
        for (class, machine, loader, expected) in [
            (2, own, glibc, Some(false)),
            (2, own, musl, Some(true)),
            (2, own, Some("/system/bin/linker64"), Some(true)),
            (2, other, glibc, Some(true)),
            (1, 3, Some("/lib/ld-linux.so.2"), Some(true)),
            (2, own, None, None),
            (1, 3, None, None),
        ] {
            assert_eq!(
                is_foreign(&program(class, machine, loader))?,
                expected,
                "{class} {machine} {loader:?}"
            );
        }
        Ok(())
    }

    #[test]
    fn damaged_files_are_no_programs() -> io::Result<()> {
        let whole = program(2, X86_64, Some("/lib/ld-musl-x86_64.so.1"));
        for length in [0, 4, 19, 40, 63, 150] {
            assert_eq!(is_foreign(&whole[..length])?, None, "{length}");
        }
        let mut bytes = whole;
        bytes[32..40].fill(0xff);
        assert_eq!(is_foreign(&bytes)?, None);
        assert_eq!(is_foreign(b"#!\n")?, None);
        assert_eq!(is_foreign(b"#!/no-such-interpreter")?, None);
        Ok(())
    }
}
