//! The changes to a program's environment that make it record.

use crate::Options;
use spool::Level;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The changes to the environment of a program.
#[derive(Debug)]
pub struct Environment {
    /// Variables to set or, with `None`, to remove.
    pub variables: Vec<(&'static str, Option<OsString>)>,
    /// Notes about it for the reader of the recording, one line each.
    pub notes: Vec<String>,
}

impl Environment {
    /// The environment that the capture library needs.
    pub(crate) fn new(options: &Options, library: &Path, spool: &Path) -> Environment {
        let stacks = options.stacks_ns.map_or("off".into(), |shortest| shortest.to_string());
        let locks = Some(options.locks.join(":")).filter(|locks| !locks.is_empty());
        let mut variables = vec![
            (spool::VAR_PRELOAD, Some(preload(library, std::env::var_os(spool::VAR_PRELOAD)))),
            (spool::VAR_DIRECTORY, Some(spool.into())),
            (spool::VAR_LEVEL, Some(level(options.level).into())),
            (spool::VAR_MAX_SIZE, Some(options.max_size.to_string().into())),
            (spool::VAR_KEEP, options.keep_last.then(|| "last".into())),
            (spool::VAR_GRAPH_NODES, options.graph_nodes.then(|| "1".into())),
            (spool::VAR_STACKS, Some(stacks.into())),
            (spool::VAR_LOCKS, locks.map(OsString::from)),
        ];
        let injections = [
            (spool::VAR_CUDA_INJECTION, "recording starts at the first driver call that holdup sees"),
            (spool::VAR_NVTX_INJECTION, "NVTX ranges are not recorded"),
        ];
        let mut notes = Vec::new();
        for (name, loss) in injections {
            match taken(name, library) {
                None => variables.push((name, Some(library.into()))),
                Some(other) => notes.push(format!("{name} keeps its value {}: {loss}", other.display())),
            }
        }
        Environment { variables, notes }
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Light | Level::Watched => "light",
        Level::Full => "full",
        Level::Calls => "calls",
    }
}

/// The library, then the libraries that are already preloaded.
fn preload(library: &Path, before: Option<OsString>) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        list.push(":");
        list.push(before);
    }
    list
}

/// The value of an injection variable that another tool uses.
pub fn taken(name: &str, library: &Path) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty() && value != OsStr::new(library))
}
