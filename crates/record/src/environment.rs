//! What the program's environment gets so that it is recorded.

use crate::Options;
use spool::Level;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// Where the driver looks for a library to load within `cuInit`.
pub const CUDA_INJECTION: &str = "CUDA_INJECTION64_PATH";
/// Where NVTX looks for the library that gets ranges.
pub const NVTX_INJECTION: &str = "NVTX_INJECTION64_PATH";

/// Gives a program's environment what the capture library needs; returns what the reader of the
/// recording should know about it.
pub fn prepare(command: &mut Command, options: &Options, library: &Path, spool: &Path) -> Vec<String> {
    command.env("LD_PRELOAD", preload(library, std::env::var_os("LD_PRELOAD")));
    command.env(spool::VAR_DIRECTORY, spool);
    command.env(spool::VAR_LEVEL, level(options.level));
    command.env(spool::VAR_MAX_SIZE, options.max_size.to_string());
    command.env(spool::VAR_STACKS, options.stacks_ns.map_or("off".into(), |shortest| shortest.to_string()));
    match options.locks.as_slice() {
        [] => command.env_remove(spool::VAR_LOCKS),
        locks => command.env(spool::VAR_LOCKS, locks.join(":")),
    };
    let lost = [
        (CUDA_INJECTION, "recording starts at the first driver call that holdup sees"),
        (NVTX_INJECTION, "NVTX ranges are not recorded"),
    ];
    lost.into_iter().filter_map(|(name, loss)| inject(command, name, loss, library)).collect()
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Light => "light",
        Level::Full => "full",
    }
}

/// The library before what is preloaded already.
fn preload(library: &Path, before: Option<OsString>) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        list.push(":");
        list.push(before);
    }
    list
}

/// Sets an injection variable; leaves it to another tool that has it, and says so.
fn inject(command: &mut Command, name: &str, loss: &str, library: &Path) -> Option<String> {
    match taken(name, library) {
        None => {
            command.env(name, library);
            None
        }
        Some(other) => Some(format!("{name} was left as it is, {}: {loss}", other.display())),
    }
}

/// What an injection variable holds when it is another tool's.
pub fn taken(name: &str, library: &Path) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty() && value != OsStr::new(library))
}
