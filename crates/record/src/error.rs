//! Why a program could not be recorded: what, where, and what to do. One line each.

use std::io;
use std::path::{Path, PathBuf};

/// A program that could not be started, or not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no command.
    #[error("no program to record; name one, with its arguments")]
    NoCommand,
    /// There is no such program.
    #[error("{program}: command not found; check the name{}", if *.searched { " and PATH" } else { "" })]
    NotFound {
        /// The program as named.
        program: String,
        /// It was looked for in the directories of PATH.
        searched: bool,
    },
    /// There is such a file, but it cannot be executed.
    #[error("{program}: cannot be executed: {reason}")]
    NotExecutable {
        /// The program as named.
        program: String,
        /// Why.
        reason: String,
    },
    /// The operating system did not start the program, for a reason that is not the program's.
    #[error("{program}: cannot be started: {}", said(.source))]
    Start {
        /// The program as named.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// Someone else took the program's exit status.
    #[error("{program}: its exit status is unknown: {}", said(.source))]
    Lost {
        /// The program as named.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The capture library is nowhere.
    #[error(
        "holdup's capture library is missing (looked for {}); install holdup again, or name the library in {}",
        listed(.looked),
        crate::capture::VARIABLE
    )]
    NoCaptureLibrary {
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// The capture library's path cannot stand in `LD_PRELOAD`.
    #[error(
        "{}: LD_PRELOAD cannot hold a path with a space, a colon or a dollar sign; copy the library elsewhere and name the copy in {}",
        .0.display(),
        crate::capture::VARIABLE
    )]
    Unloadable(PathBuf),
    /// There is no room for what is recorded, or not in that place.
    #[error("{}: nothing can be recorded there: {}", .path.display(), said(.source))]
    Spool {
        /// Where the spool was to be.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Error {
    /// The exit status that a shell would end with: 127 for a program that is not there, 126 for one
    /// that cannot be started, and 2 for what is wrong with the recording.
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
            // A directory of PATH that may not be searched.
            (Some(libc::EACCES), None) if searched => return Error::NotFound { program: name, searched },
            (Some(libc::ENOENT), Some(_)) => "the interpreter or loader that it names is missing".to_owned(),
            (Some(libc::EACCES), Some(file)) if file.is_dir() => "it is a directory".to_owned(),
            (Some(libc::EACCES), _) => format!("{}; check its permissions", said(&source)),
            (Some(libc::ENOEXEC | libc::ETXTBSY | libc::ELOOP | libc::EPERM), _) => said(&source),
            _ => return Error::Start { program: name, source },
        };
        Error::NotExecutable { program: name, reason }
    }
}

fn has_directory(program: &Path) -> bool {
    program.as_os_str().as_encoded_bytes().contains(&b'/')
}

/// The file that a shell would take the name for.
fn find(program: &Path) -> Option<PathBuf> {
    if program.as_os_str().is_empty() {
        return None;
    }
    if has_directory(program) {
        return program.exists().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or("/bin:/usr/bin".into());
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// What the operating system says, without its number.
fn said(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
