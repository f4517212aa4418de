//! The spool's directory.

use crate::Error;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Longest path of a spool, bytes: the capture library has 1024 bytes for the path of a file in it.
const LONGEST: usize = 990;

/// The directory of a program's recording. Dropping it removes the directory, unless [`Spool::keep`] was called.
#[derive(Debug)]
pub struct Spool(TempDir);

impl Spool {
    /// Creates an empty directory that only this user can enter.
    pub(crate) fn make(parent: &Path) -> Result<Spool, Error> {
        let made = std::path::absolute(parent).and_then(|parent| {
            let mut builder = tempfile::Builder::new();
            builder.prefix("holdup-").suffix(".spool").permissions(Permissions::from_mode(0o700));
            builder.tempdir_in(parent)
        });
        let spool = made.map(Spool).map_err(|source| failed(parent, source))?;
        if spool.path().as_os_str().len() > LONGEST {
            return Err(failed(parent, io::ErrorKind::InvalidFilename.into()));
        }
        Ok(spool)
    }

    /// The directory's absolute path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Whether no process has begun to record.
    pub fn is_empty(&self) -> bool {
        let files = std::fs::read_dir(self.path()).into_iter().flatten().flatten();
        !files.into_iter().any(|file| file.file_name().as_encoded_bytes().ends_with(spool::SUFFIX.as_bytes()))
    }

    /// Keeps the directory and returns its path.
    pub fn keep(self) -> PathBuf {
        self.0.keep()
    }

    /// Removes the directory and its contents.
    ///
    /// # Errors
    ///
    /// The operating system's error if the directory cannot be removed.
    pub fn remove(self) -> io::Result<()> {
        self.0.close()
    }
}

fn failed(parent: &Path, source: io::Error) -> Error {
    Error::Spool { path: parent.to_owned(), source }
}
