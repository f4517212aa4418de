//! `holdup import`

use crate::args::Import;
use crate::failure::{Failure, operating_system};
use crate::input;
use crate::output::{self, Color};
use crate::time;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use tempfile::{Builder, NamedTempFile};
use trace::{FileError, Trace};

/// Converts a trace to a `.holdup` file.
pub fn run(arguments: &Import, color: Color) -> Result<ExitCode, Failure> {
    let selection = arguments.filter.selection();
    time::check(&selection)?;
    let file = &arguments.output;
    // Asked before the work; asked again by the operating system when the file gets its name.
    if !arguments.force && file.symlink_metadata().is_ok() {
        return Err(exists(file));
    }
    let temporary = beside(file)?;
    let trace = input::read(&arguments.trace)?.cut(&selection);
    write(&trace, &temporary).map_err(|error| Failure::of(file, error))?;
    let named = if arguments.force { temporary.persist(file) } else { temporary.persist_noclobber(file) };
    match named {
        Ok(_) => {
            output::print(&report::header(&trace, &file.to_string_lossy(), output::page(color)))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(file)),
        Err(error) => Err(Failure::of(file, operating_system(&error.error))),
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

fn write(trace: &Trace, file: &NamedTempFile) -> Result<(), FileError> {
    let mut buffered = BufWriter::new(file.as_file());
    trace::write(trace, &mut buffered)?;
    Ok(buffered.flush()?)
}
