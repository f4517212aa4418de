//! Runs other programs with a time limit.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Largest number of bytes that are read of an output.
const MOST: u64 = 1 << 20;

/// Time between two checks whether a program has ended.
const GLANCE: Duration = Duration::from_millis(2);

/// How long to wait for the end of a killed program: one that hangs in a driver does not end.
const FAREWELL: Duration = Duration::from_millis(200);

/// The output and the end of a program.
#[derive(Debug)]
pub struct Answer {
    /// How it ended; `None` if it was killed because it took too long.
    pub status: Option<ExitStatus>,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub error: String,
}

/// Runs a program without input, for at most `patience`.
///
/// # Errors
///
/// The program cannot be started, or there is no room for its output.
pub fn run(command: &mut Command, patience: Duration) -> io::Result<Answer> {
    // Files instead of pipes: this process need not read while the program runs, and descriptors that the program's
    // children hold open do not matter.
    let (output, error) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(error.try_clone()?);
    let mut child = command.spawn()?;
    let status = wait(&mut child, patience);
    if status.is_none() {
        let _ = child.kill();
        wait(&mut child, FAREWELL);
    }
    Ok(Answer { status, output: text(output), error: text(error) })
}

fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if began.elapsed() < patience => std::thread::sleep(GLANCE),
            _ => return None,
        }
    }
}

fn text(mut file: File) -> String {
    let mut bytes = Vec::new();
    // Unreadable output counts as no output.
    let _ = file.rewind().and_then(|()| file.take(MOST).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
