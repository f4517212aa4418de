//! Errors of recording a program: where, what, and what to do, in one line each.

use crate::capture::Unusable;
use std::io;
use std::path::{Path, PathBuf};

/// Why a program could not be started or recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no command.
    #[error("no program to record: name one, with its arguments")]
    NoCommand,
    /// There is no such program.
    #[error("{program}: command not found: check the name{}", if *.searched { " and PATH" } else { "" })]
    NotFound {
        /// The program as named.
        program: String,
        /// Whether it was searched in the directories of PATH.
        searched: bool,
    },
    /// There is such a file, but it cannot be executed.
    #[error("{program}: cannot be executed: {reason}")]
    NotExecutable {
        /// The program as named.
        program: String,
        /// Why not.
        reason: String,
    },
    /// The operating system did not start the program, for a reason outside the program.
    #[error("{program}: cannot be started: {}", said(.source))]
    Start {
        /// The program as named.
        program: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// Another part of this process took the program's exit status.
    #[error("{program}: its exit status is unknown: {}", said(.source))]
    Lost {
        /// The program as named.
        program: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The capture library is missing, or cannot be preloaded.
    #[error(transparent)]
    Capture(#[from] Unusable),
    /// The spool cannot be created in that place.
    #[error("{}: nothing can be recorded there: {}", .path.display(), said(.source))]
    Spool {
        /// The intended place of the spool.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl Error {
    /// The exit status that a shell would use: 127 for a program that does not exist, 126 for one that cannot be
    /// started, and 2 for a problem of the recording.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::NotFound { .. } => 127,
            Error::NotExecutable { .. } | Error::Start { .. } => 126,
            _ => 2,
        }
    }

    /// Why the operating system refused to execute a program.
    pub(crate) fn refused(program: &Path, source: io::Error) -> Error {
        let (name, searched) = (program.display().to_string(), !has_directory(program));
        let found = find(program);
        let reason = match (source.raw_os_error(), &found) {
            (Some(libc::ENOENT | libc::ENOTDIR), None) => return Error::NotFound { program: name, searched },
            // A directory of PATH that this user may not search.
            (Some(libc::EACCES), None) if searched => return Error::NotFound { program: name, searched },
            (Some(libc::ENOENT), Some(_)) => "the interpreter or loader that it names is missing".to_owned(),
            (Some(libc::EACCES), Some(file)) if file.is_dir() => "it is a directory".to_owned(),
            (Some(libc::EACCES), _) => format!("{}: check its permissions", said(&source)),
            (Some(libc::ENOEXEC | libc::ETXTBSY | libc::ELOOP | libc::EPERM), _) => said(&source),
            _ => return Error::Start { program: name, source },
        };
        Error::NotExecutable { program: name, reason }
    }
}

fn has_directory(program: &Path) -> bool {
    program.as_os_str().as_encoded_bytes().contains(&b'/')
}

/// The file that a shell would find for the name.
fn find(program: &Path) -> Option<PathBuf> {
    let is_there = |file: &PathBuf| if has_directory(program) { file.exists() } else { file.is_file() };
    candidates(program).into_iter().find(is_there)
}

/// The files that a name may mean: in the directories of PATH unless it has one.
pub(crate) fn candidates(program: &Path) -> Vec<PathBuf> {
    if program.as_os_str().is_empty() {
        return Vec::new();
    }
    if has_directory(program) {
        return vec![program.to_owned()];
    }
    let path = std::env::var_os("PATH").unwrap_or("/bin:/usr/bin".into());
    std::env::split_paths(&path).map(|directory| directory.join(program)).collect()
}

/// The operating system's message, without its number.
pub(crate) fn said(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
