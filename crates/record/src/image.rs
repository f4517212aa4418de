//! Whether the capture library can be loaded into a program: glibc's loader loads it.

use crate::error::candidates;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why a program cannot be recorded from inside.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Obstacle {
    /// No loader loads libraries into it.
    #[error(
        "{}: cannot be recorded itself: a static executable, into which no library can be loaded: \
         link it dynamically with glibc",
        .0.display()
    )]
    Static(PathBuf),
    /// Its loader cannot load the library.
    #[error(
        "{}: cannot be recorded: a program of another C library (its loader is {loader}): \
         link it dynamically with glibc",
        .program.display()
    )]
    Foreign {
        /// The program.
        program: PathBuf,
        /// The loader's file name.
        loader: String,
    },
}

/// How often a script's interpreter is a script: as often as the kernel goes on.
const MOST_SCRIPTS: usize = 5;
/// Bytes of a script's first line that the kernel reads.
const HEAD: usize = 256;
/// Most headers of a file that are looked at.
const MOST_HEADERS: u64 = 64;
/// How the file names of glibc's loaders begin. `ld-2.31.so` is the file behind the name in older versions.
const OF_GLIBC: [&str; 4] = ["ld-linux", "ld64.so", "ld-2.", "ld.so"];

/// The obstacle that keeps a program from being recorded; `None` also if that cannot be found out.
pub(crate) fn obstacle(program: &Path) -> Option<Obstacle> {
    let mut path = candidates(program).into_iter().find(|path| is_executable(path))?;
    for _ in 0..=MOST_SCRIPTS {
        let file = File::open(&path).ok()?;
        let mut head = vec![0; HEAD];
        let length = file.read_at(&mut head, 0).ok()?;
        head.truncate(length);
        match head.strip_prefix(b"#!") {
            Some(line) => path = interpreter(line)?,
            None => return loaded(path, &file, &head),
        }
    }
    None
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The interpreter in a script's first line.
fn interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|byte| *byte == b'\n').next()?;
    let path = line.split(|byte| matches!(byte, b' ' | b'\t' | 0)).find(|word| !word.is_empty())?;
    Some(OsStr::from_bytes(path).into())
}

/// The loader of an ELF file.
fn loaded(path: PathBuf, file: &File, head: &[u8]) -> Option<Obstacle> {
    // Only files of 64 bits have the library's form; others are left to their loader.
    if !head.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let is_loader = path.file_name().and_then(OsStr::to_str).is_some_and(is_of_glibc);
    let (headers, size, count) = (number(head, 32, 8)?, number(head, 54, 2)?, number(head, 56, 2)?);
    for index in 0..count.min(MOST_HEADERS) {
        let mut header = [0; 56];
        file.read_exact_at(&mut header, headers.checked_add(index * size)?).ok()?;
        if number(&header, 0, 4)? != u64::from(libc::PT_INTERP) {
            continue;
        }
        let mut name = vec![0; usize::try_from(number(&header, 32, 8)?).ok()?.min(libc::PATH_MAX as usize)];
        file.read_exact_at(&mut name, number(&header, 8, 8)?).ok()?;
        let name = name.split(|byte| *byte == 0).next()?;
        let loader = Path::new(OsStr::from_bytes(name)).file_name()?.to_string_lossy().into_owned();
        return (!is_of_glibc(&loader)).then_some(Obstacle::Foreign { program: path, loader });
    }
    (!is_loader).then_some(Obstacle::Static(path))
}

fn is_of_glibc(loader: &str) -> bool {
    OF_GLIBC.iter().any(|name| loader.starts_with(name)) && !loader.contains("uClibc")
}

/// A number of so many bytes, the lowest first as all of these machines have it.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + length)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_of_glibc_and_others() {
        for loader in ["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld64.so.2", "ld-2.31.so", "ld.so"] {
            assert!(is_of_glibc(loader), "{loader}");
        }
        for loader in ["ld-musl-x86_64.so.1", "libc.so", "ld64-uClibc.so.1", "linker64"] {
            assert!(!is_of_glibc(loader), "{loader}");
        }
    }

    #[test]
    fn the_interpreter_is_the_first_word_of_a_scripts_line() {
        for (line, path) in [
            (&b"/bin/sh\nexit"[..], Some("/bin/sh")),
            (b" \t/usr/bin/env -S python3 -u\n", Some("/usr/bin/env")),
            (b"\n/bin/sh", None),
        ] {
            assert_eq!(interpreter(line), path.map(PathBuf::from));
        }
    }

    #[test]
    fn programs_of_this_machine_have_none() {
        for program in ["sh", "/bin/sh", "no-such-program", "/etc/passwd", "/"] {
            assert_eq!(obstacle(Path::new(program)), None, "{program}");
        }
    }
}
