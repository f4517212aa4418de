//! Reads traces of other tools into a [`trace::Trace`]: Kineto JSON, Nsight Systems SQLite,
//! nvprof SQLite, what both print, and holdup's own files and spools, recognised by content.
//!
//! Inputs are read once, front to back, never copied and never written to. Damaged input never
//! panics: what cannot be read is counted in [`trace::Lost`], or is a [`Problem`] when nothing
//! can be made of it.

mod clock;
mod cupti;
mod database;
mod demangle;
mod detect;
mod error;
mod gather;
mod identities;
mod json;
mod kineto;
mod nsys;
mod nvprof;
mod overhead;
mod printed;
mod progress;
mod sqlite;
mod stacks;
mod suffix;

pub use error::{ImportError, Problem};

use detect::Format;
use flate2::read::MultiGzDecoder;
use kineto::Text;
use memmap2::Mmap;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use trace::Trace;

/// How far an import is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes read, or rows of a database.
    pub done: u64,
    /// Bytes or rows in all, when known.
    pub total: Option<u64>,
}

/// Reads the trace at `path`; `-` is standard input.
pub fn open(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Trace, ImportError> {
    let read = if path == Path::new("-") {
        read_stream(&mut std::io::stdin().lock(), progress)
    } else {
        open_file(path, progress)
    };
    read.map_err(|problem| ImportError { path: path.to_owned(), problem })
}

/// Reads a trace that lies in memory; `name` stands for it in errors. SQLite needs a file.
pub fn read_bytes(bytes: &[u8], name: &str) -> Result<Trace, ImportError> {
    let read = read_memory(bytes, &mut |_| {});
    read.map_err(|problem| ImportError { path: name.into(), problem })
}

fn open_file(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        if gather::is_spool(path) {
            return gather::import(path, progress);
        }
        return Err(Problem::NotAFile("a directory"));
    }
    if !metadata.is_file() {
        // A pipe, such as a shell's process substitution.
        return read_stream(&mut file, progress);
    }
    if metadata.len() == 0 {
        return Err(Problem::Empty);
    }
    let mut head = Vec::with_capacity(detect::ENOUGH);
    (&file).take(detect::ENOUGH as u64).read_to_end(&mut head)?;
    if detect::format(&head)? == Format::Sqlite {
        return database::import(path, &mut |done, rows| progress(Progress { done, total: Some(rows) }));
    }
    // SAFETY: the map is private and read-only. Another process may still cut or change the file
    // while it is mapped: changed bytes are only ever read as untrusted input, and a cut file
    // ends this process by SIGBUS, as it would any reader of a mapped file.
    let map = unsafe { Mmap::map(&file)? };
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    read_memory(&map, progress)
}

fn read_memory(bytes: &[u8], progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    match detect::format(&bytes[..bytes.len().min(detect::ENOUGH)])? {
        Format::Json => kineto::import(Text::Whole(bytes), progress),
        Format::Gzip => {
            let total = Some(bytes.len() as u64);
            read_gzip(bytes, &mut |done| progress(Progress { done, total }))
        }
        Format::Holdup => Ok(trace::read(bytes)?),
        Format::Spool => Ok(gather::read_bytes(bytes, progress)),
        Format::Printed => printed::import(bytes, progress),
        Format::Sqlite => Err(needs_a_file()),
    }
}

fn read_stream(stream: &mut dyn Read, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    let mut head = Vec::new();
    stream.take(detect::ENOUGH as u64).read_to_end(&mut head)?;
    let format = detect::format(&head)?;
    let mut all = Cursor::new(head).chain(stream);
    match format {
        Format::Json => kineto::import(Text::Stream(&mut all), progress),
        Format::Gzip => read_gzip(all, &mut |done| progress(Progress { done, total: None })),
        Format::Holdup | Format::Spool | Format::Printed => {
            let mut bytes = Vec::new();
            all.read_to_end(&mut bytes)?;
            read_memory(&bytes, progress)
        }
        Format::Sqlite => Err(needs_a_file()),
    }
}

/// A SQLite database is read by seeking in it, and holdup makes no temporary copies.
fn needs_a_file() -> Problem {
    Problem::NotATrace {
        what: "a SQLite database without a name".to_owned(),
        what_to_do: "name the file instead of piping it",
    }
}

/// Reads a Kineto trace from gzip data; `progress` gets compressed bytes.
fn read_gzip(compressed: impl Read, progress: &mut dyn FnMut(u64)) -> Result<Trace, Problem> {
    let read = std::cell::Cell::new(0);
    let mut text = MultiGzDecoder::new(Counted { inner: compressed, read: &read });
    let mut head = Vec::new();
    let began = (&mut text).take(detect::ENOUGH as u64).read_to_end(&mut head);
    if let (Err(error), true) = (began, head.is_empty()) {
        return Err(Problem::Gzip { at: read.get(), reason: error.to_string() });
    }
    let format = detect::format(&head)?;
    let mut all = Cursor::new(head).chain(text);
    match format {
        Format::Json => kineto::import(Text::Stream(&mut all), &mut |_| progress(read.get())),
        Format::Printed => {
            let mut text = Vec::new();
            let end = all.read_to_end(&mut text);
            let mut trace = printed::import(&text, &mut |_| progress(read.get()))?;
            trace.meta.lost.truncated |= end.is_err();
            Ok(trace)
        }
        Format::Sqlite | Format::Holdup | Format::Spool | Format::Gzip => {
            let what = "a gzip file that holds no JSON and no listing".to_owned();
            Err(Problem::NotATrace { what, what_to_do: "unpack it and name what it held" })
        }
    }
}

/// A reader that counts what passes.
struct Counted<'a, R> {
    inner: R,
    read: &'a std::cell::Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

/// What every importer does once all records are in their tables.
fn finish(trace: &mut Trace) {
    trace.join();
    clock::check(trace);
    trace.rebase();
    demangle::kernels(trace);
}
