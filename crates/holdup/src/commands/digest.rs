//! `holdup digest`

use crate::args::{Digest, Table};
use crate::failure::{Failure, UNREADABLE, operating_system};
use crate::progress::Bar;
use crate::readers::Readers;
use crate::{input, output, save};
use explain::Options;
use fleet::{EncodeError, Files, Given, Identity};
use report::units;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Traces of one file: so few that a worker that is killed loses little, and so many that thousands of traces are few files.
const TOGETHER: usize = 64;

/// A trace to digest.
struct Input {
    path: PathBuf,
    /// The path or address in the digest.
    name: String,
    /// Why it cannot be read, where that is known already.
    error: Option<String>,
}

impl Input {
    fn of(path: &Path) -> Input {
        Input { path: path.to_owned(), name: full(path), error: None }
    }

    /// A line of a list: the path, its name in the digest, and an error, with tabs between.
    fn of_line(line: &str) -> Input {
        let mut words = line.splitn(3, '\t');
        let path = PathBuf::from(words.next().unwrap_or_default());
        let name = words.next().map_or_else(|| full(&path), str::to_owned);
        Input { path, name, error: words.next().map(str::to_owned) }
    }
}

/// Counts of the traces digested, and the files written.
#[derive(Default, serde::Serialize)]
struct Done {
    traces: u64,
    unreadable: u64,
    files: Vec<String>,
    bytes: u64,
}

/// Digests every trace; one that cannot be read becomes a row with its error.
pub fn run(arguments: &Digest) -> Result<ExitCode, Failure> {
    let inputs = inputs(arguments)?;
    let given = Given { run: arguments.run.clone(), rank: arguments.rank };
    if given.rank.is_some() && inputs.len() > 1 {
        let message = "--rank is the rank of one trace: give it with each trace of its own";
        return Err(Failure::Message(message.to_owned()));
    }
    let readers = Readers::of(inputs.iter().map(|input| input.path.as_path()));
    let folder = save::Folder::new(&arguments.output, readers)?;
    let (mut done, mut bar) = (Done::default(), Bar::new("digesting"));
    for some in inputs.chunks(TOGETHER) {
        let mut files = Vec::<Files>::new();
        for input in some {
            bar.update(&input.name, done.traces, Some(inputs.len() as u64));
            add(input, &given, &mut files, &mut done)?;
        }
        let mut written = Vec::new();
        for file in files {
            written.extend(file.write().map_err(|error| Failure::Message(error.to_string()))?);
        }
        folder.put(&written)?;
        for (name, bytes) in written {
            done.files.push(name);
            done.bytes += bytes.len() as u64;
        }
    }
    drop(bar);
    output::print(&match arguments.format {
        Table::Json => report::json("holdup/digest/1", &done),
        Table::Text => summary(&done, &arguments.output.display().to_string()),
    })?;
    Ok(if done.unreadable == done.traces { ExitCode::from(UNREADABLE) } else { ExitCode::SUCCESS })
}

/// Digests a trace into the file of its run.
fn add(input: &Input, given: &Given, files: &mut Vec<Files>, done: &mut Done) -> Result<(), Failure> {
    done.traces += 1;
    let read = match &input.error {
        Some(error) => Err(error.clone()),
        None => import::open(&input.path, &mut |_| {}).map_err(|error| Failure::from(error).line()),
    };
    let pushed = match read {
        Ok(trace) => {
            let identity = Identity::of(&input.name, Some(&trace), given);
            let (mut explanation, _) = super::explanation::each(&trace, &Options::default());
            explanation.trace.path.clone_from(&input.name);
            of_run(files, &identity.run).push(&fleet::digest(&trace, &explanation, identity))
        }
        Err(message) => {
            done.unreadable += 1;
            eprintln!("holdup: {message}");
            let identity = Identity::of(&input.name, None, given);
            of_run(files, &identity.run).push(&fleet::unreadable(identity, &message))
        }
    };
    pushed.map(drop).map_err(|error: EncodeError| Failure::Message(error.to_string()))
}

fn of_run<'f>(files: &'f mut Vec<Files>, run: &str) -> &'f mut Files {
    let at = files.iter().position(|file| file.run == run).unwrap_or_else(|| {
        files.push(Files::new(run));
        files.len() - 1
    });
    &mut files[at]
}

fn summary(done: &Done, place: &str) -> String {
    let Done { traces, unreadable, files, bytes } = done;
    let place = report::visible(place);
    let size = units::file_size(*bytes);
    let digested = units::counted(*traces - *unreadable, "trace", "traces");
    let mut text = format!(
        "{place}: {digested} digested, {size} in {}\n",
        units::counted(files.len() as u64, "file", "files")
    );
    if *unreadable > 0 {
        text += &format!(
            "{} cannot be read: the digests have the errors\n",
            units::counted(*unreadable, "trace", "traces")
        );
    }
    text
}

/// The traces of the command line, or of a list.
fn inputs(arguments: &Digest) -> Result<Vec<Input>, Failure> {
    let Some(list) = &arguments.list else {
        return Ok(arguments.traces.iter().map(|path| Input::of(path)).collect());
    };
    let mut text = String::new();
    let read = match list == Path::new("-") {
        true => std::io::stdin().lock().read_to_string(&mut text),
        false => std::fs::File::open(list).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.map_err(|error| Failure::of(list, operating_system(&error)))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let inputs: Vec<Input> = lines.map(Input::of_line).collect();
    match inputs.is_empty() {
        true => Err(Failure::of(list, "no traces to digest: list one per line")),
        false => Ok(inputs),
    }
}

/// The path from the root, so that a trace has one name wherever it is digested.
fn full(path: &Path) -> String {
    std::path::absolute(path).map_or_else(|_| input::name(path), |path| path.to_string_lossy().into_owned())
}
