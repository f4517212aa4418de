//! Reads a spool: the directory of the files that a program's processes recorded.
//!
//! Each file is read several times. Texts and clock readings are first, because any record may refer to them. Records
//! that need no others follow (`decode.rs`, `records.rs`), then those that do (`wrapped.rs`, `later.rs`, `links.rs`).
//! Chunks are read on all processors and added in their order.

mod decode;
mod devices;
mod endings;
mod generated_code;
mod issue;
mod later;
mod libraries;
mod links;
mod losses;
mod order;
mod places;
mod recorded;
mod records;
mod state;
mod symbolizer;
mod symbols;
mod tallies;
#[cfg(test)]
mod tests;
mod texts;
mod thread_waits;
mod unread;
mod watched;
mod wrapped;

use crate::clock;
use crate::finish::finish;
use crate::importer::{Fit, Importer, Input, Progress, Seen};
use crate::{Problem, demangle};
use memmap2::Mmap;
use rustc_hash::{FxHashMap, FxHashSet};
use spool::{Chunk, Clocks, Home, Level};
use state::endings::Endings;
use state::later::Later;
use state::texts::Texts;
use state::watched::WatchState;
use state::{Gather, Process};
use std::fs::File;
use std::path::{Path, PathBuf};
use symbolizer::{NoSymbols, Symbolizer};
use symbols::Symbols;
use trace::{Ns, ProcessId, Trace};

pub(crate) static IMPORTER: Importer = Importer {
    // What a recorder leaves that was killed; people have it as a `.holdup` file.
    forms: &[],
    sniff,
    read,
};

/// Recognizes a directory with spool files, or one such file.
fn sniff(seen: &Seen<'_>) -> Fit {
    match seen {
        Seen::Folder(path) => is_spool(path).into(),
        Seen::Head(head) => head.starts_with(spool::ANY_VERSION).into(),
        Seen::Database(_) => Fit::No,
    }
}

fn read(input: Input<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    if let Input::Folder(directory) = input {
        return import(directory, progress);
    }
    let file = input.whole();
    match is_of_another_version(&file.bytes) {
        true => Err(another_version()),
        false => Ok(read_bytes(&file.bytes, progress)),
    }
}

/// Whether a file is a spool file that this version cannot read.
fn is_of_another_version(bytes: &[u8]) -> bool {
    bytes.starts_with(spool::ANY_VERSION) && !bytes.starts_with(&spool::MAGIC.to_ne_bytes())
}

fn another_version() -> Problem {
    Problem::NotATrace {
        what: "a spool of another version of holdup".to_owned(),
        what_to_do: "read it with the version that recorded it",
    }
}

/// Whether a directory holds spool files.
fn is_spool(directory: &Path) -> bool {
    files(directory).is_ok_and(|files| !files.is_empty())
}

/// Reads all files of a spool.
pub(crate) fn import(directory: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    let (mut maps, mut closed) = (Vec::new(), Vec::new());
    for path in files(directory)? {
        match map(&path) {
            Ok(map) => maps.push((path, map)),
            Err(Problem::Io(error)) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                closed.push((path, error));
            }
            Err(problem) => return Err(problem),
        }
    }
    if maps.is_empty() {
        if let Some((_, error)) = closed.pop() {
            return Err(error.into());
        }
        return Err(Problem::NotATrace {
            what: "a directory without a recording: no process of the program used CUDA".to_owned(),
            what_to_do: "name the file or spool itself",
        });
    }
    if maps.iter().all(|(_, map)| is_of_another_version(map)) {
        return Err(another_version());
    }
    // A file beside it that is missing or cannot be read says nothing of the process.
    let beside: Vec<_> = maps.iter().map(|(path, _)| self::map(&path.with_extension(WATCHED)).ok()).collect();
    let contents = maps.iter().zip(&beside).map(|((path, map), beside)| Contents {
        name: name(path),
        bytes: map,
        beside: beside.as_deref(),
    });
    let contents: Vec<_> = contents.collect();
    // A program without a request may have none.
    let shared = std::fs::read(directory.join(spool::SHARED)).unwrap_or_default();
    let shared = Shared {
        requests: spool::requests(&shared),
        unrecorded_children: spool::unrecorded_children(&shared),
        foreign_programs: spool::foreign_programs(&shared),
        filtered_programs: spool::filtered_programs(&shared),
    };
    let mut trace = gather(&contents, Some(&shared), &mut Symbols::of_owner(directory), progress);
    for (path, _) in closed {
        trace.meta.lost.record("spool file that cannot be read");
        let pid = name(&path).split('-').next().unwrap_or_default().to_owned();
        trace.meta.notes.push(format!("process {pid}: its records cannot be read: it ran as another user"));
    }
    Ok(trace)
}

/// Reads one file of a spool, without any other file.
pub(crate) fn read_bytes(bytes: &[u8], progress: &mut dyn FnMut(Progress)) -> Trace {
    let contents = Contents { name: "the spool file".to_owned(), bytes, beside: None };
    gather(&[contents], None, &mut NoSymbols, progress)
}

/// Files of one process in a spool.
struct Contents<'a> {
    /// The name of its own file.
    name: String,
    bytes: &'a [u8],
    /// The file that `record` wrote about it.
    beside: Option<&'a [u8]>,
}

/// The extension of the file beside a process's own.
const WATCHED: &str = spool::WATCH_SUFFIX.split_at(1).1;

fn files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.as_os_str().as_encoded_bytes().ends_with(spool::SUFFIX.as_bytes()) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn map(path: &Path) -> Result<Mmap, Problem> {
    let file = File::open(path)?;
    // SAFETY: private and read-only. A process that is still writing may change the bytes; each is read as untrusted
    // input. No process truncates a spool file.
    Ok(unsafe { Mmap::map(&file)? })
}

/// Facts that all processes of a program share.
struct Shared {
    /// When recording was switched off, on and so on.
    requests: Vec<Ns>,
    unrecorded_children: u64,
    foreign_programs: u64,
    filtered_programs: u64,
}

/// Builds a trace from the contents of spool files, each with its name, and from what all processes share, if that is
/// known.
fn gather(
    files: &[Contents<'_>],
    shared: Option<&Shared>,
    symbolizer: &mut dyn Symbolizer,
    progress: &mut dyn FnMut(Progress),
) -> Trace {
    let total = files.iter().map(|file| file.bytes.len() as u64).sum();
    let mut gather = Gather::new(symbolizer);
    gather.requested = shared.map(|shared| recorded::requested(&shared.requests));
    gather.unrecorded_children(shared.map_or(0, |shared| shared.unrecorded_children));
    gather.unrecorded_programs(
        "programs of another C library (musl) or processor that were not recorded",
        "programs of another C library (musl) or for another processor were executed",
        shared.map_or(0, |shared| shared.foreign_programs),
    );
    gather.unrecorded_programs(
        "programs executed under a seccomp filter that were not recorded",
        "programs were executed under a seccomp filter",
        shared.map_or(0, |shared| shared.filtered_programs),
    );
    let mut opened: Vec<(&Contents<'_>, spool::File<'_>)> = Vec::new();
    for contents in files {
        match spool::File::new(contents.bytes) {
            Some(file) => opened.push((contents, file)),
            None => gather.no_file(contents.bytes),
        }
    }
    // The program first, then the processes that it started.
    opened.sort_by_key(|(contents, file)| (file.began(), contents.name.as_str()));
    let mut done = 0;
    for (number, (contents, file)) in opened.iter().enumerate() {
        gather.file(number as i64, contents, file);
        done += contents.bytes.len() as u64;
        progress(Progress { done, total: Some(total) });
    }
    gather.finish()
}

impl<'a> Gather<'a> {
    fn file(&mut self, number: i64, contents: &Contents<'_>, file: &spool::File<'_>) {
        if self.trace.meta.epoch_unix_ns.is_none() {
            self.trace.meta.epoch_unix_ns = Some(file.unix_offset());
        }
        let row = self.ids.process(&mut self.trace, number);
        self.trace.processes.pid[row] = file.pid().into();
        self.parents.push((row, file.parent()));
        self.places.next_process(file.pid(), file.began().saturating_add(file.unix_offset()));
        let (chunks, damage) = file.chunks();
        let (first_call, first_op) = (self.trace.calls.len(), self.trace.ops.len());
        let mut process = Process {
            all: self,
            number,
            pid: file.pid(),
            row,
            texts: Texts::default(),
            readings: Vec::new(),
            clocks: Clocks::default(),
            threads: FxHashMap::default(),
            gpus: FxHashMap::default(),
            device_of: FxHashMap::default(),
            cupti: FxHashSet::default(),
            first_call,
            first_op,
            first: Ns::MAX,
            last: vec![0; chunks.len() + 1],
            chunk: 0,
            later: Later::default(),
            watched: WatchState::default(),
            endings: Endings::default(),
            file: Home::Own,
            remarks: Vec::new(),
            settings: Vec::new(),
            named: FxHashSet::default(),
            switches: Vec::new(),
            recorded: Vec::new(),
            complete_from: None,
            began: 0,
        };
        // Of a process that is only watched, its own file has nothing.
        if file.level() != Some(Level::Watched) {
            let damaged = process.read(file, &chunks);
            process.losses(&contents.name, file, &chunks, damaged.into_iter().chain([damage.bytes]));
        }
        match contents.beside.map(spool::File::new) {
            Some(Some(beside)) => process.beside(&beside),
            Some(None) => process
                .all
                .trace
                .meta
                .lost
                .record("files of what the recorder saw of a process that are none"),
            None => {}
        }
        if self.places.is_fortran(&self.trace) {
            demangle::fortran_kernels(&mut self.trace, first_op);
        }
    }

    /// Counts a file that should be a spool file but is not.
    fn no_file(&mut self, bytes: &[u8]) {
        let lost = &mut self.trace.meta.lost;
        if is_of_another_version(bytes) {
            lost.record("spool file of another version of holdup");
        } else if (bytes.len() as u64) < spool::ALIGN {
            lost.record("spool file shorter than its header");
            let why = "a process's spool file is shorter than its header: the disk was full \
                       (holdup record --spool-dir uses another), the file size limit was too small \
                       (see ulimit -f), or the process ended at once";
            self.note(why.to_owned());
        } else {
            lost.record("spool file whose process ended before writing to it");
        }
    }

    /// Counts processes that the program made and that have no file.
    fn unrecorded_children(&mut self, count: u64) {
        self.trace.meta.lost.records("child processes that were not recorded", count);
        if count > 0 {
            self.note(format!(
                "{count} child processes were not recorded: they were made without the handlers of fork (_Fork, vfork, clone)"
            ));
        }
    }

    /// Counts programs that were executed without the library: the program may have used CUDA in them.
    fn unrecorded_programs(&mut self, which: &str, how: &str, count: u64) {
        self.trace.meta.lost.records(which, count);
        if count > 0 {
            self.note(format!("{count} {how} and not recorded"));
        }
    }

    /// Finds the processes that started others: a child may use CUDA before them. Of several images of one, the last.
    fn find_parents(&mut self) {
        let processes = &mut self.trace.processes;
        for (row, parent) in std::mem::take(&mut self.parents) {
            let is_it = |id: &ProcessId| *id != row && processes.pid[*id] == i64::from(parent);
            processes.parent[row] = processes.ids().rfind(is_it).unwrap_or_default();
        }
    }

    fn finish(mut self) -> Trace {
        self.find_parents();
        self.cut();
        self.number_gpus();
        let Gather { mut trace, mut places, complete, .. } = self;
        places.versions(&mut trace);
        trace.meta.locks_watched = complete && !trace.processes.is_empty();
        finish(&mut trace);
        trace.meta.gpu_clock = clock::bounds(&trace);
        recorded::say(&mut trace);
        trace
    }
}

impl Process<'_, '_> {
    /// Reads all records; returns the damaged bytes of each chunk.
    fn read(&mut self, file: &spool::File<'_>, chunks: &[Chunk<'_>]) -> Vec<u64> {
        let surveys = self.survey(chunks);
        self.clocks = std::mem::take(&mut self.readings).into_iter().collect();
        self.recorded_times(file, chunks);
        self.records(chunks);
        let with_calls = chunks.iter().zip(&surveys).enumerate().filter(|(_, (_, survey))| survey.has_calls);
        for (number, (chunk, _)) in with_calls {
            self.chunk = number;
            chunk.records().flatten().for_each(|record| self.driver_call(&record));
        }
        // Where CUPTI recorded operations and no calls.
        let has_operations = self.first_op < self.all.trace.ops.len();
        self.later.is_joined = has_operations && !self.later.has_calls;
        self.later.gave_up = has_operations && file.level() == Some(Level::Light);
        self.number_streams();
        self.wrapped_calls(chunks);
        self.chunk = chunks.len();
        self.join_by_order();
        self.syncs();
        self.tracers();
        self.link();
        self.tallies();
        surveys.iter().map(|survey| survey.damaged).collect()
    }
}
