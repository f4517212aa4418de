//! `holdup case`

use super::explanation;
use crate::args;
use crate::failure::Failure;
use crate::input;
use crate::output;
use crate::progress::Bar;
use crate::readers::Readers;
use crate::save::{Directory, Target};
use ::case::show::{self, REPORT, TRACE, WORKLOAD};
use ::case::{Case, NoCase, Stage, Wanted};
use explain::Options;
use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trace::FileError;
use zip::write::SimpleFileOptions;

/// Writes the report of a finding, the reproduction and the extract.
pub fn run(arguments: &args::Case) -> Result<ExitCode, Failure> {
    let path = arguments.output.clone().unwrap_or_else(|| beside(&arguments.trace));
    let destination = Destination::new(&path, arguments)?;
    let trace = input::read(&arguments.trace)?;
    let name = input::name(&arguments.trace);
    let mut bar = Bar::new("making");
    let total = Stage::ALL.len() as u64;
    let mut progress = |stage: Stage| {
        let done = Stage::ALL.iter().position(|of| *of == stage).unwrap_or(0);
        bar.update(stage.words(), done as u64, Some(total));
    };
    let wanted = Wanted { finding: arguments.finding, gpus: arguments.gpus, names: arguments.names };
    let explain = |trace: &trace::Trace| explanation::each(trace, &Options::default());
    let made = Case::of(trace, &wanted, &explain, &mut progress);
    drop(bar);
    let case = match made {
        Ok(case) => case,
        Err(NoCase::Nothing) => {
            output::print(&format!("{}: no findings: nothing to report\n", report::visible(&name)))?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(problem) => return Err(Failure::of(&arguments.trace, refusal(problem, arguments.finding))),
    };
    destination.write(&files(&case).map_err(|error| Failure::of(&path, error))?)?;
    say(&case, &path)?;
    Ok(ExitCode::SUCCESS)
}

/// Why there is no case of a trace, and what to do.
fn refusal(problem: NoCase, wanted: usize) -> String {
    match problem {
        NoCase::Nothing => String::from("no findings"),
        NoCase::Fewer(count) => {
            format!("no finding H{wanted}: it has {count}, `holdup explain --all` lists them")
        }
        NoCase::Lost => {
            String::from("the finding rests on names, and is not there without them: keep them with --names")
        }
    }
}

/// `server-case` for `/traces/server.json.gz`.
fn beside(trace: &Path) -> PathBuf {
    let name = trace.file_name().filter(|_| trace != Path::new("-")).unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("trace");
    PathBuf::from(format!("{stem}-case"))
}

/// The files of a case with their contents.
fn files(case: &Case) -> Result<Vec<(&'static str, Vec<u8>)>, FileError> {
    let mut files = vec![(REPORT, show::markdown(case).into_bytes())];
    if let Ok(made) = &case.reproduction {
        files.push((WORKLOAD, show::toml(case, made).into_bytes()));
    }
    let mut extract = Cursor::new(Vec::new());
    trace::write(&case.extract.trace, &mut extract)?;
    files.push((TRACE, extract.into_inner()));
    Ok(files)
}

/// Where a case goes.
enum Destination {
    Folder(Directory),
    Archive(Target),
}

impl Destination {
    fn new(path: &Path, arguments: &args::Case) -> Result<Destination, Failure> {
        let readers = Readers::of([arguments.trace.as_path()]);
        let is_archive = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("zip"));
        match is_archive {
            true => Ok(Destination::Archive(Target::new(path, arguments.force, readers)?)),
            false => Ok(Destination::Folder(Directory::new(path, arguments.force, readers, is_case)?)),
        }
    }

    fn write(self, files: &[(&'static str, Vec<u8>)]) -> Result<(), Failure> {
        match self {
            Destination::Folder(directory) => directory.write_with(|folder| {
                files.iter().try_for_each(|(name, bytes)| Ok(std::fs::write(folder.join(name), bytes)?))
            }),
            Destination::Archive(target) => {
                let bytes = archive(files).map_err(|error| Failure::of(target.path(), error))?;
                target.write_with(|out| Ok(out.write_all(&bytes)?))
            }
        }
    }
}

/// A zip archive of files.
fn archive(files: &[(&'static str, Vec<u8>)]) -> Result<Vec<u8>, FileError> {
    let stored =
        SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(*name, stored)?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Whether a folder has nothing but the files of a case.
fn is_case(folder: &Path) -> io::Result<bool> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        let is_ours = [REPORT, WORKLOAD, TRACE].iter().any(|name| entry.file_name() == *name);
        if !is_ours || !entry.file_type()?.is_file() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Prints what the reproduction showed, what has which names, and what was written.
fn say(case: &Case, path: &Path) -> Result<(), Failure> {
    let shown = match &case.reproduction {
        Ok(made) => show::is_shown(case, made),
        Err(why) => format!("There is no reproduction: {why}."),
    };
    let names = match case.replaced {
        Some(_) => "names are replaced",
        None => {
            "with the names of the program (--names): processes, threads, functions, source files, kernels, ranges, command line, machine"
        }
    };
    let files = if case.reproduction.is_ok() {
        "case.md, reproduction.toml, trace.holdup"
    } else {
        "case.md, trace.holdup"
    };
    let path = path.display().to_string();
    output::print(&format!("{shown}\n{}: {files}; {names}\n", report::visible(&path)))
}
