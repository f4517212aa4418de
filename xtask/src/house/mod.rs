//! Checks of the source itself: how its comments begin, which modules import each other in a circle, where a `match` takes whatever else,
//! which shapes are hard to read; and the map of its files.

pub mod circles;
pub mod comments;
pub mod map;
mod modules;
pub mod shapes;
pub mod wildcards;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// The Rust files that Git knows or would add, by path from the project's folder: a new file is checked before its first commit.
fn sources(root: &Path) -> io::Result<Vec<String>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.rs"])
        .current_dir(root)
        .output()?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let there = |name: &&str| !name.is_empty() && root.join(name).is_file();
    Ok(names.split('\0').filter(there).map(str::to_owned).collect())
}
