//! Checks whether the capture library exists and a program starts with it.

use super::bounded;
use super::check::{Check, State};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const NAME: &str = "capture library";

pub fn check(patience: Duration) -> Check {
    match crate::capture::find() {
        Err(unusable) => Check::bad(NAME, State::Missing, unusable.what, unusable.remedy),
        Ok(path) => match preload(&path, patience) {
            Ok(()) => Check::ok(NAME, path.display().to_string()),
            Err(reason) => {
                let found = format!("{} cannot be preloaded: {reason}", path.display());
                Check::bad(
                    NAME,
                    State::Missing,
                    found,
                    "use the build of holdup for this machine's C library",
                )
            }
        },
    }
}

/// Starts a trivial program with the library; the loader reports problems on standard error.
fn preload(library: &Path, patience: Duration) -> Result<(), String> {
    let mut command = Command::new("true");
    command.env(spool::VAR_PRELOAD, library).env_remove(spool::VAR_DIRECTORY);
    let answer = bounded::run(&mut command, patience).map_err(|error| error.to_string())?;
    let complaint = answer.error.lines().next().map(str::to_owned);
    match (answer.status, complaint) {
        (Some(status), None) if status.success() => Ok(()),
        (_, Some(complaint)) => Err(complaint),
        (Some(status), None) => Err(format!("a program that preloads it ends with {status}")),
        (None, None) => Err("a program that preloads it does not end".to_owned()),
    }
}
