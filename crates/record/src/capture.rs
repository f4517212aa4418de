//! Finds the capture library.

use crate::Error;
use std::path::{Path, PathBuf};

/// The environment variable that names the library.
pub const VARIABLE: &str = "HOLDUP_CAPTURE_LIB";

const NAME: &str = "libholdup_capture.so";

/// Finds the capture library: the one that [`VARIABLE`] names, or else the one next to the executable or in the `lib`
/// directory next to the executable's directory.
///
/// # Errors
/// If there is no library in these places, or `LD_PRELOAD` cannot hold its path.
pub fn find() -> Result<PathBuf, Error> {
    let places = places();
    let found = places.iter().find(|path| path.is_file()).and_then(|path| std::path::absolute(path).ok());
    match found {
        Some(path) if preloads(&path) => Ok(path),
        Some(path) => Err(Error::Unloadable(path)),
        None => Err(Error::NoCaptureLibrary { looked: places }),
    }
}

fn places() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return vec![named.into()];
    }
    let executable = std::env::current_exe().unwrap_or_default();
    let Some(directory) = executable.parent() else { return Vec::new() };
    let beside = directory.join(NAME);
    let library = directory.parent().map(|parent| parent.join("lib").join(NAME));
    [Some(beside), library].into_iter().flatten().collect()
}

/// Whether `LD_PRELOAD` can hold the path: the loader ends names there at spaces and colons and replaces some words
/// after a dollar sign.
fn preloads(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().iter().any(|byte| b" :$".contains(byte))
}
