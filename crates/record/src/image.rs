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
    /// It is for another processor than the library, or for one of 32 bits.
    #[error(
        "{}: cannot be recorded: a program for another processor, or of 32 bits: only 64-bit programs for {} are",
        .0.display(), std::env::consts::ARCH
    )]
    Processor(PathBuf),
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
    if !spool::is_for_this_processor(head)? {
        return Some(Obstacle::Processor(path));
    }
    let is_loader = spool::is_loader_of_glibc(path.as_os_str().as_bytes());
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
        return (!spool::is_loader_of_glibc(name)).then_some(Obstacle::Foreign { program: path, loader });
    }
    (!is_loader).then_some(Obstacle::Static(path))
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
    fn a_program_of_32_bits_cannot_be_recorded() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        let mut bytes = *b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0";
        let mut obstacle_of = |class: u8| {
            bytes[4] = class;
            std::fs::write(&path, bytes).expect("a file");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it is ours");
            obstacle(&path)
        };
        assert_eq!(obstacle_of(1), Some(Obstacle::Processor(path.clone())));
        assert_eq!(
            obstacle_of(2),
            Some(Obstacle::Processor(path.clone())),
            "of x32 or for another processor"
        );
    }

    #[test]
    fn programs_of_this_machine_have_none() {
        for program in ["sh", "/bin/sh", "no-such-program", "/etc/passwd", "/"] {
            assert_eq!(obstacle(Path::new(program)), None, "{program}");
        }
    }
}
