//! Writing to a file that appears under its name only when it is complete.

use crate::failure::{Failure, operating_system};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};
use trace::{FileError, Trace};

/// A file to be.
pub struct Target {
    path: PathBuf,
    temporary: NamedTempFile,
    replace: bool,
}

impl Target {
    /// Prepares to write `path`, before the work: a file that exists is only replaced when that is
    /// wanted, and the directory must let itself be written to.
    pub fn new(path: &Path, replace: bool) -> Result<Target, Failure> {
        if !replace && path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        Ok(Target { path: path.to_owned(), temporary: beside(path)?, replace })
    }

    /// Writes the trace and gives the file its name.
    pub fn write(self, trace: &Trace) -> Result<(), Failure> {
        self.fill(|out| trace::write(trace, out))
    }

    /// Writes what `write` writes and gives the file its name.
    pub fn fill<T>(
        self,
        write: impl FnOnce(&mut BufWriter<&File>) -> Result<T, FileError>,
    ) -> Result<T, Failure> {
        let mut buffered = BufWriter::new(self.temporary.as_file());
        let written = write(&mut buffered).and_then(|value| {
            buffered.flush()?;
            Ok(value)
        });
        drop(buffered);
        let value = written.map_err(|error| Failure::of(&self.path, error))?;
        self.name()?;
        Ok(value)
    }

    fn name(self) -> Result<(), Failure> {
        let Target { path, temporary, replace } = self;
        let named = if replace { temporary.persist(&path) } else { temporary.persist_noclobber(&path) };
        match named {
            Ok(_) => Ok(()),
            // Somebody made it meanwhile.
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(error) => Err(Failure::of(&path, operating_system(&error.error))),
        }
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn exists(output: &Path) -> Failure {
    Failure::of(output, "already exists; name another file, or replace it with --force")
}

/// A file in the same directory, so that naming it is one step; gone if anything fails.
fn beside(output: &Path) -> Result<NamedTempFile, Failure> {
    let directory = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = Builder::new();
    builder.prefix(".holdup-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What any new file gets, less the umask: a temporary file is private otherwise.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(directory.unwrap_or(Path::new(".")));
    file.map_err(|error| Failure::of(output, format!("cannot be written: {}", operating_system(&error))))
}
