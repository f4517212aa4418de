//! Errors in one line.

use import::{ImportError, Problem};
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Exit status for wrong usage and unreadable input.
pub const UNREADABLE: u8 = 2;

/// Why a command ended early.
pub enum Failure {
    /// The reader of the output has gone: nothing is wrong.
    Closed,
    /// The message: where, what, and what to do.
    Message(String),
}

impl Failure {
    /// A failure about a file.
    pub fn of(path: &Path, problem: impl Display) -> Failure {
        Failure::Message(format!("{}: {problem}", path.display()))
    }

    /// Its message in one line; empty if there is none.
    pub fn line(&self) -> String {
        match self {
            Failure::Closed => String::new(),
            Failure::Message(message) => one_line(message),
        }
    }

    /// Prints it on standard error.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Closed => ExitCode::SUCCESS,
            Failure::Message(message) => {
                eprintln!("holdup: {}", one_line(&message));
                ExitCode::from(UNREADABLE)
            }
        }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Failure {
        match error.problem {
            Problem::Io(problem) => Failure::of(&error.path, operating_system(&problem)),
            _ => Failure::Message(error.to_string()),
        }
    }
}

/// Failures of writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Message(format!("standard output: {}", operating_system(&error))),
        }
    }
}

/// The operating system's message without its number, and what to do.
pub fn operating_system(error: &io::Error) -> String {
    let text = error.to_string();
    let what = text.split(" (os error").next().unwrap_or(&text);
    match error.kind() {
        io::ErrorKind::NotFound => format!("{what}: check the name"),
        io::ErrorKind::PermissionDenied => format!("{what}: check its permissions"),
        io::ErrorKind::StorageFull => format!("{what}: free some space"),
        _ => what.to_owned(),
    }
}

/// A path or a name in a message can hold anything; the message stays one harmless line.
fn one_line(message: &str) -> String {
    let mut line = String::new();
    for c in message.chars() {
        match c {
            '\n' | '\r' | '\t' => line.push(' '),
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}
