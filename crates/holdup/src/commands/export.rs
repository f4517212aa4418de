//! `holdup export`

use crate::args;
use crate::failure::Failure;
use crate::input;
use crate::output::{self, Color};
use crate::progress::Bar;
use crate::readers::Readers;
use crate::save::{Directory, Target};
use crate::time;
use explain::{Explanation, Loss, Options};
use export::{Export, Progress};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use trace::{FileError, Selection, Trace};

/// Writes a trace and its findings in another tool's format.
pub fn run(arguments: &args::Export, color: Color) -> Result<ExitCode, Failure> {
    let selection = arguments.filter.selection();
    time::check(&selection)?;
    let destination = Destination::new(arguments)?;
    let trace = input::read_part(&arguments.trace, &selection)?;
    if is_flame(arguments.format) && trace.samples.is_empty() {
        let name = input::name(&arguments.trace);
        return Err(Failure::Message(format!("{name}: no samples: record with --sample-rate 100")));
    }
    let (trace, explanation, losses) = explained(trace, selection);
    let export = Export { trace: &trace, explanation: &explanation, losses: &losses };
    destination.write(&export, arguments)?;
    if arguments.output != Path::new("-") {
        say(&trace, &arguments.output, color)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a format has samples alone.
fn is_flame(format: args::Target) -> bool {
    matches!(format, args::Target::Speedscope | args::Target::Folded)
}

/// The selected part of a trace, and its explanation: the rest serves as evidence.
fn explained(trace: Trace, selection: Selection) -> (Trace, Explanation, Vec<Loss>) {
    let options = Options { selection, ..Options::default() };
    let (mut explanation, losses) = super::explanation::each(&trace, &options);
    let (trace, numbers) = trace.part(&options.selection);
    explanation.trace = explain::summary(&trace);
    (trace, explanation, losses.into_iter().filter_map(|loss| loss.in_part(&numbers)).collect())
}

/// Where an export goes.
enum Destination {
    File(Target),
    Directory(Directory),
    StandardOutput,
}

impl Destination {
    fn new(arguments: &args::Export) -> Result<Destination, Failure> {
        let (path, force) = (&arguments.output, arguments.force);
        let readers = Readers::of([arguments.trace.as_path()]);
        let tables = matches!(arguments.format, args::Target::Parquet | args::Target::Csv);
        match (tables, path == Path::new("-")) {
            (true, true) => {
                Err(Failure::Message(String::from("tables are several files: name a directory with -o")))
            }
            (true, false) => {
                Ok(Destination::Directory(Directory::new(path, force, readers, export::is_export)?))
            }
            (false, false) => Ok(Destination::File(Target::new(path, force, readers)?)),
            (false, true) if arguments.format == args::Target::Perfetto && io::stdout().is_terminal() => {
                Err(Failure::Message(String::from("a terminal cannot show this format: name a file with -o")))
            }
            (false, true) => Ok(Destination::StandardOutput),
        }
    }

    fn write(self, export: &Export<'_>, arguments: &args::Export) -> Result<(), Failure> {
        let mut bar = Bar::new("writing");
        let name = input::name(&arguments.output);
        let mut progress = |progress: Progress| bar.update(&name, progress.done, Some(progress.total));
        let format = arguments.format;
        match self {
            Destination::File(target) => {
                target.write_with(|file| Ok(draw(export, format, file, &mut progress)?))
            }
            Destination::Directory(directory) => {
                directory.write_with(|directory| tabulate(export, arguments, directory, &mut progress))
            }
            Destination::StandardOutput => Ok(draw(export, format, io::stdout().lock(), &mut progress)?),
        }
    }
}

fn draw(
    export: &Export<'_>,
    format: args::Target,
    to: impl io::Write,
    progress: &mut dyn FnMut(Progress),
) -> io::Result<()> {
    match format {
        args::Target::Chrome => export::chrome(export, to, progress),
        args::Target::Speedscope => export::speedscope(export.trace, io::BufWriter::new(to)),
        args::Target::Folded => export::folded(export.trace, io::BufWriter::new(to)),
        _ => export::perfetto(export, to, progress),
    }
}

fn tabulate(
    export: &Export<'_>,
    arguments: &args::Export,
    directory: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), FileError> {
    match arguments.format {
        args::Target::Csv => export::csv(export, directory, progress),
        _ if arguments.names => export::named_parquet(export, directory, progress),
        _ => export::parquet(export, directory, progress),
    }
}

fn say(trace: &Trace, path: &Path, color: Color) -> Result<(), Failure> {
    output::print(&report::header(trace, &path.to_string_lossy(), output::page(color)).to_string())
}
