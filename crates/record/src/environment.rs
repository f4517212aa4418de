//! What a program's environment gets so that it is recorded.

use crate::Options;
use spool::Level;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Where the driver looks for a library to load within `cuInit`.
pub const CUDA_INJECTION: &str = "CUDA_INJECTION64_PATH";
/// Where NVTX looks for the library that gets ranges.
pub const NVTX_INJECTION: &str = "NVTX_INJECTION64_PATH";

/// What changes in the environment of a program.
#[derive(Debug)]
pub struct Environment {
    /// Variables to set or, with none, to remove.
    pub variables: Vec<(&'static str, Option<OsString>)>,
    /// What the reader of the recording should know about it, a line each.
    pub notes: Vec<String>,
}

impl Environment {
    /// What the capture library needs.
    pub(crate) fn new(options: &Options, library: &Path, spool: &Path) -> Environment {
        let stacks = options.stacks_ns.map_or("off".into(), |shortest| shortest.to_string());
        let locks = Some(options.locks.join(":")).filter(|locks| !locks.is_empty());
        let mut variables = vec![
            ("LD_PRELOAD", Some(preload(library, std::env::var_os("LD_PRELOAD")))),
            (spool::VAR_DIRECTORY, Some(spool.into())),
            (spool::VAR_LEVEL, Some(level(options.level).into())),
            (spool::VAR_MAX_SIZE, Some(options.max_size.to_string().into())),
            (spool::VAR_STACKS, Some(stacks.into())),
            (spool::VAR_LOCKS, locks.map(OsString::from)),
        ];
        let injections = [
            (CUDA_INJECTION, "recording starts at the first driver call that holdup sees"),
            (NVTX_INJECTION, "NVTX ranges are not recorded"),
        ];
        let mut notes = Vec::new();
        for (name, loss) in injections {
            match taken(name, library) {
                None => variables.push((name, Some(library.into()))),
                Some(other) => notes.push(format!("{name} was left as it is, {}: {loss}", other.display())),
            }
        }
        Environment { variables, notes }
    }
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

/// What an injection variable holds when it is another tool's.
pub fn taken(name: &str, library: &Path) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty() && value != OsStr::new(library))
}
