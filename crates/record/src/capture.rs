//! Finds the capture library.

use std::path::{Path, PathBuf};

/// The environment variable that names the library.
pub const VARIABLE: &str = "HOLDUP_CAPTURE_LIB";

const NAME: &str = "libholdup_capture.so";

/// Why there is no capture library to preload.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {remedy}")]
pub struct Unusable {
    /// Problem with the library.
    pub what: String,
    /// Remedy for the problem.
    pub remedy: String,
}

/// Finds the capture library: the one that [`VARIABLE`] names, or else the one next to the executable or in the `lib` or
/// `libexec` directory next to the executable's directory. The wheel has it in `libexec`: `pip install --target` leaves out
/// what a package puts into `lib`.
///
/// # Errors
/// If there is no library in these places, or `LD_PRELOAD` cannot hold its path.
pub fn find() -> Result<PathBuf, Unusable> {
    let places = places();
    let found = places.iter().find(|path| path.is_file()).and_then(|path| std::path::absolute(path).ok());
    match found {
        Some(path) if preloads(&path) => Ok(path),
        Some(path) => Err(Unusable {
            what: format!(
                "{}: LD_PRELOAD cannot hold a path with a space, a colon or a dollar sign",
                path.display()
            ),
            remedy: format!("copy the library elsewhere and name the copy in {VARIABLE}"),
        }),
        None => Err(Unusable {
            what: format!("holdup's capture library is missing (looked for {})", listed(&places)),
            remedy: format!("install holdup again, or name the library in {VARIABLE}"),
        }),
    }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn places() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return vec![named.into()];
    }
    let executable = std::env::current_exe().unwrap_or_default();
    let Some(directory) = executable.parent() else { return Vec::new() };
    let prefix = directory.parent().unwrap_or(directory);
    [directory.join(NAME), prefix.join("lib").join(NAME), prefix.join("libexec").join(NAME)].into()
}

/// Whether `LD_PRELOAD` can hold the path: the loader ends names there at spaces and colons and replaces some words
/// after a dollar sign.
fn preloads(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().iter().any(|byte| b" :$".contains(byte))
}
