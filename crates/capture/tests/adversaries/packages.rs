//! Libraries of Debian: those of the machine, or else from a package that is unpacked for the tests alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Where a package that is installed has its libraries.
const INSTALLED: [&str; 2] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];

/// Longer than a package of a megabyte needs.
const PATIENCE: &str = "20";

/// The file of a package whose name begins with `file`; why it cannot be had.
pub fn file(package: &str, file: &str) -> Result<PathBuf, String> {
    if let Some(found) = INSTALLED.iter().find_map(|folder| find(Path::new(folder), file, 0)) {
        return Ok(found);
    }
    find(&root(package)?, file, 8).ok_or_else(|| format!("{package} has no {file}"))
}

/// Where a package is unpacked; why it cannot be had.
pub fn root(package: &str) -> Result<PathBuf, String> {
    /// One at a time: several adversaries want the same.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages").join(package);
    let root = folder.join("unpacked");
    if !root.is_dir() {
        unpack(package, &folder)
            .ok_or_else(|| format!("{package} is not installed and cannot be downloaded"))?;
    }
    Ok(root)
}

fn unpack(package: &str, folder: &Path) -> Option<()> {
    fs::create_dir_all(folder).ok()?;
    let done =
        |command: &mut Command| command.current_dir(folder).output().is_ok_and(|ran| ran.status.success());
    done(Command::new("timeout").arg(PATIENCE).args(["apt-get", "download", package])).then_some(())?;
    let archives = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let archive = archives.into_iter().find(|path| path.extension().is_some_and(|suffix| suffix == "deb"))?;
    done(Command::new("dpkg").arg("-x").arg(archive).arg("unpacked")).then_some(())
}

/// The first file of that name, below so many folders.
fn find(folder: &Path, name: &str, depth: usize) -> Option<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let is_it = |path: &&PathBuf| {
        let is_named = path.file_name().and_then(|own| own.to_str()).is_some_and(|own| own.starts_with(name));
        is_named && path.is_file()
    };
    let below = || {
        let folders = paths.iter().filter(|path| depth > 0 && path.is_dir() && !path.is_symlink());
        folders.into_iter().find_map(|path| find(path, name, depth - 1))
    };
    paths.iter().find(is_it).cloned().or_else(below)
}
