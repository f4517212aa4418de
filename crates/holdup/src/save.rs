//! Writing files and directories atomically.

use crate::failure::{Failure, operating_system};
use crate::links;
use crate::output;
use crate::readers::Readers;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile, TempDir};
use trace::{FileError, Trace};

/// Where a file of that path is going to be, however the path gets there. Its last part is not followed: a link is replaced.
pub fn place(path: &Path) -> PathBuf {
    match (parent(path).canonicalize(), path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_owned(),
    }
}

/// A file to write.
pub struct Target {
    path: PathBuf,
    temporary: NamedTempFile,
    replace: bool,
}

impl Target {
    /// Prepares to write `path` for these readers, before the work: a file that exists is only replaced when that is
    /// wanted, and the directory must let itself be written to.
    pub fn new(path: &Path, replace: bool, readers: Readers) -> Result<Target, Failure> {
        links::check(path)?;
        if !replace && path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        let temporary = builder(readers.file_mode()).tempfile_in(parent(path));
        let temporary = temporary.map_err(|error| unwritable(path, &error))?;
        Ok(Target { path: path.to_owned(), temporary, replace })
    }

    /// Writes the trace and gives the file its name.
    pub fn write(self, trace: &Trace) -> Result<(), Failure> {
        self.write_with(|file| trace::write(trace, file))
    }

    /// Writes text and gives the file its name.
    pub fn write_text(self, text: &str) -> Result<(), Failure> {
        self.write_with(|file| Ok(file.write_all(text.as_bytes())?))
    }

    /// Has `write` write the file, then names it.
    pub fn write_with<T>(
        self,
        write: impl FnOnce(&mut BufWriter<&File>) -> Result<T, FileError>,
    ) -> Result<T, Failure> {
        let Target { path, temporary, replace } = self;
        let mut buffered = BufWriter::new(temporary.as_file());
        let written = write(&mut buffered).and_then(|value| {
            buffered.flush()?;
            Ok(value)
        });
        drop(buffered);
        let value = written.map_err(|error| failure(&path, error))?;
        let named = if replace { temporary.persist(&path) } else { temporary.persist_noclobber(&path) };
        match named {
            Ok(_) => Ok(value),
            // Somebody made it meanwhile.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(error) => Err(Failure::of(&path, operating_system(&error.error))),
        }
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes a page to its file and prints its size, or writes it to standard output.
pub fn page(page: &page::Page, target: Option<Target>) -> Result<(), Failure> {
    let Some(target) = target else {
        page.write(&mut io::stdout().lock())?;
        return Ok(());
    };
    let name = target.path().display().to_string();
    let written = target.write_with(|out| Ok(page.write(out)?))?;
    output::print(&format!("{}: {}\n", report::visible(&name), report::units::file_size(written.bytes)))
}

/// A folder that gets files of any depth, each replaced at once.
pub struct Folder {
    path: PathBuf,
    readers: Readers,
}

impl Folder {
    /// Makes the folder for these readers, and checks before the work that it can be written to.
    pub fn new(path: &Path, readers: Readers) -> Result<Folder, Failure> {
        if path.to_string_lossy().contains("://") {
            let message = "not a folder: holdup.fleet.digest in Python writes to addresses";
            return Err(Failure::of(path, message));
        }
        links::check(path)?;
        std::fs::create_dir_all(path).map_err(|error| unwritable(path, &error))?;
        builder(0o600).tempfile_in(path).map_err(|error| unwritable(path, &error))?;
        Ok(Folder { path: path.to_owned(), readers })
    }

    /// Writes files, or replaces them.
    pub fn put(&self, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
        files.iter().try_for_each(|(name, bytes)| put(&self.path, name, bytes, self.readers))
    }
}

fn put(folder: &Path, name: &str, bytes: &[u8], readers: Readers) -> Result<(), Failure> {
    let path = folder.join(name);
    std::fs::create_dir_all(parent(&path)).map_err(|error| unwritable(&path, &error))?;
    Target::new(&path, true, readers)?.write_with(|out| Ok(out.write_all(bytes)?))
}

/// A directory to write.
pub struct Directory {
    path: PathBuf,
    temporary: TempDir,
}

impl Directory {
    /// Prepares to write `path` for these readers: what is there is only replaced when that is wanted and `is_ours`
    /// knows it for something that may go.
    pub fn new(
        path: &Path,
        replace: bool,
        readers: Readers,
        is_ours: impl Fn(&Path) -> io::Result<bool>,
    ) -> Result<Directory, Failure> {
        // A slash behind the name would stay in the way of renaming.
        let path: PathBuf = path.components().collect();
        links::check(&path)?;
        if path.symlink_metadata().is_ok() {
            if !replace {
                return Err(exists(&path));
            }
            if !path.is_dir() || !is_ours(&path).map_err(|error| unwritable(&path, &error))? {
                let problem = "holds other files, and is not replaced: name another directory";
                return Err(Failure::of(&path, problem));
            }
        }
        let temporary = builder(readers.folder_mode()).tempdir_in(parent(&path));
        let temporary = temporary.map_err(|error| unwritable(&path, &error))?;
        Ok(Directory { path, temporary })
    }

    /// Has `write` fill the directory, then names it.
    pub fn write_with(self, write: impl FnOnce(&Path) -> Result<(), FileError>) -> Result<(), Failure> {
        let Directory { path, temporary } = self;
        write(temporary.path()).map_err(|error| failure(&path, error))?;
        let in_the_way = |error: io::Error| Failure::of(&path, operating_system(&error));
        // What was there goes when its successor has the name, and comes back if that fails.
        let aside = builder(0o700).tempdir_in(parent(&path)).map_err(in_the_way)?;
        let old = aside.path().join("old");
        let moved = std::fs::rename(&path, &old).is_ok();
        match std::fs::rename(temporary.path(), &path) {
            Ok(()) => {
                // Nothing is left under this name to be removed.
                let _ = temporary.keep();
                Ok(())
            }
            Err(error) => {
                if moved && std::fs::rename(&old, &path).is_err() {
                    let kept = aside.keep().join("old");
                    let problem =
                        format!("{}: the old content is in {}", operating_system(&error), kept.display());
                    return Err(Failure::of(&path, problem));
                }
                Err(in_the_way(error))
            }
        }
    }
}

fn exists(output: &Path) -> Failure {
    Failure::of(output, "already exists: name another file, or replace it with --force")
}

fn unwritable(output: &Path, error: &io::Error) -> Failure {
    Failure::of(output, format!("cannot be written: {}", operating_system(error)))
}

fn failure(path: &Path, error: FileError) -> Failure {
    match error {
        FileError::Io(error) => unwritable(path, &error),
        error => Failure::of(path, error),
    }
}

/// Where the output will be: what is made there takes its name in one step.
fn parent(output: &Path) -> &Path {
    output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Temporary names, gone if anything fails; with these permissions, less the umask.
fn builder(mode: u32) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".holdup-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    builder
}
