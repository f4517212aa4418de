//! Folders that commands write.

use std::path::Path;

/// The names of what a folder has, sorted.
pub fn entries(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("readable");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}
