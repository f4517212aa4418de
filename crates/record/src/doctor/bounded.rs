//! Asking other programs without waiting for ever.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Most bytes of an answer that are read.
const MOST: u64 = 1 << 20;

/// How often a program is looked at.
const GLANCE: Duration = Duration::from_millis(2);

/// How long a killed program may take to go: one that hangs within a driver does not.
const FAREWELL: Duration = Duration::from_millis(200);

/// What a program said.
#[derive(Debug)]
pub struct Answer {
    /// How it ended; `None` when it was killed for taking too long.
    pub status: Option<ExitStatus>,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub error: String,
}

/// Runs a program with no input, for so long at most.
///
/// # Errors
///
/// The program cannot be started, or there is no room for what it says.
pub fn run(command: &mut Command, patience: Duration) -> io::Result<Answer> {
    // Files rather than pipes: nobody has to read while it runs, and what its own children hold
    // open does not matter.
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
    // What cannot be read was not said.
    let _ = file.rewind().and_then(|()| file.take(MOST).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
