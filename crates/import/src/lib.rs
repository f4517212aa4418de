//! Reads traces of other tools into a [`trace::Trace`]: Kineto JSON, Nsight Systems SQLite, nvprof SQLite, printed
//! listings of both tools, and holdup's own files and spools. Formats are recognized by content.
//!
//! [`open`] reads a file or standard input, [`read_bytes`] reads memory. Inputs are never copied and never written to.
//! Damaged input never panics: unreadable records are counted in [`trace::Lost`]; an input without any readable record
//! is an [`ImportError`], whose [`Problem`] states what to do.
//!
//! ```
//! let json = r#"{"schemaVersion": 1, "traceEvents": [
//!     {"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 7, "tid": 1, "ts": 0, "dur": 2,
//!      "args": {"correlation": 1}}]}"#;
//! let trace = import::read_bytes(json.as_bytes(), "trace.json")?;
//!
//! assert_eq!(trace.text(trace.calls.name[0]), "cudaMalloc");
//! assert_eq!(trace.calls.end[0] - trace.calls.start[0], 2_000); // ns
//! # Ok::<(), import::ImportError>(())
//! ```

mod clock;
mod cupti;
mod database;
mod demangle;
mod detect;
mod error;
mod finish;
mod gather;
mod holdup_file;
mod identities;
mod importer;
mod json;
mod kineto;
mod nsys;
mod nvprof;
mod overhead;
mod printed;
mod progress;
mod refusal;
mod source;
mod sqlite;
mod stacks;
mod suffix;

pub use error::{ImportError, Problem};
pub use importer::{Form, Progress};

use detect::{Format, IMPORTERS};
use flate2::read::MultiGzDecoder;
use importer::{ENOUGH, Input, Seen};
use memmap2::Mmap;
use refusal::needs_a_file;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use trace::Trace;

/// Every kind of trace that [`open`] reads.
pub fn forms() -> impl Iterator<Item = &'static Form> {
    IMPORTERS.iter().rev().flat_map(|importer| importer.forms)
}

/// Reads the trace at `path`; `-` is standard input.
pub fn open(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Trace, ImportError> {
    let read = if path == Path::new("-") {
        read_stream(&mut std::io::stdin().lock(), progress)
    } else {
        open_file(path, progress)
    };
    read.map_err(|problem| ImportError { path: path.to_owned(), problem: refusal::named(problem, path) })
}

/// Reads a trace from memory; errors name it `name`.
///
/// # Errors
/// Why the bytes are not a trace. A SQLite database is refused: it needs a file.
pub fn read_bytes(bytes: &[u8], name: &str) -> Result<Trace, ImportError> {
    let read = read_memory(bytes, &mut |_| {});
    read.map_err(|problem| ImportError { path: name.into(), problem })
}

fn open_file(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        let importer = detect::importer(&Seen::Folder(path), || Problem::NotAFile("a directory"))?;
        return (importer.read)(Input::Folder(path), progress);
    }
    if !metadata.is_file() {
        // A pipe, such as a shell's process substitution.
        return read_stream(&mut file, progress);
    }
    if metadata.len() == 0 {
        return Err(Problem::Empty);
    }
    let mut head = Vec::with_capacity(ENOUGH);
    (&file).take(ENOUGH as u64).read_to_end(&mut head)?;
    if let Format::Sqlite = detect::format(&head)? {
        return database::import(path, progress);
    }
    // SAFETY: the map is private and read-only. Another process may still truncate or change the file while it is
    // mapped: changed bytes are only read as untrusted input, and truncation ends this process by SIGBUS, as for any
    // reader of a mapped file.
    let map = unsafe { Mmap::map(&file)? };
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    read_memory(&map, progress)
}

fn read_memory(bytes: &[u8], progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    match detect::format(&bytes[..bytes.len().min(ENOUGH)])? {
        Format::Gzip => {
            let total = Some(bytes.len() as u64);
            read_gzip(bytes, &mut |done| progress(Progress { done, total }))
        }
        Format::Sqlite => Err(needs_a_file()),
        Format::Trace(importer) => (importer.read)(Input::Bytes(bytes), progress),
    }
}

fn read_stream(stream: &mut dyn Read, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    let mut head = Vec::new();
    stream.take(ENOUGH as u64).read_to_end(&mut head)?;
    let format = detect::format(&head)?;
    let mut all = Cursor::new(head).chain(stream);
    match format {
        Format::Gzip => read_gzip(all, &mut |done| progress(Progress { done, total: None })),
        Format::Sqlite => Err(needs_a_file()),
        Format::Trace(importer) => (importer.read)(Input::Stream(&mut all), progress),
    }
}

/// Reads a trace from gzip data; `progress` gets compressed bytes.
fn read_gzip(compressed: impl Read, progress: &mut dyn FnMut(u64)) -> Result<Trace, Problem> {
    let read = std::cell::Cell::new(0);
    let mut text = MultiGzDecoder::new(CountingReader { inner: compressed, read: &read });
    let mut head = Vec::new();
    let began = (&mut text).take(ENOUGH as u64).read_to_end(&mut head);
    if let (Err(error), true) = (began, head.is_empty()) {
        return Err(Problem::Gzip { at: read.get(), reason: error.to_string() });
    }
    let format = detect::format(&head)?;
    let mut all = Cursor::new(head).chain(text);
    match format {
        Format::Trace(importer) => (importer.read)(Input::Stream(&mut all), &mut |_| progress(read.get())),
        Format::Gzip | Format::Sqlite => {
            let what = "a gzip file that holds a database or another gzip file".to_owned();
            Err(Problem::NotATrace { what, what_to_do: "unpack it and name the unpacked file" })
        }
    }
}

/// A reader that counts its bytes.
struct CountingReader<'a, R> {
    inner: R,
    read: &'a std::cell::Cell<u64>,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}
