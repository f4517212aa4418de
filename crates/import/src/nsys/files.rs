//! Calls of the operating system's runtime library that are on files: `read` and `write` may be on a socket or a pipe as well.

use std::iter::successors;
use trace::{CallId, StackId, Trace};

/// Parts of the names of functions that read and write files alone: Python's, the C library's and the C++ library's.
const OF_FILES: [&str; 6] =
    ["_io_FileIO_", "_IO_new_file_", "_IO_file_", "__basic_file", "basic_filebuf", "java_io_File"];

/// Use of a file by a call of the library.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Opens,
    Reads(&'static str),
    Writes,
    Closes,
    /// None: it waits, is on a socket, or is the driver's.
    Other,
}

impl Use {
    fn of(function: &str) -> Use {
        match function.trim_start_matches('_').trim_end_matches("64") {
            "open" | "fopen" | "openat" => Use::Opens,
            "close" | "fclose" => Use::Closes,
            "read" => Use::Reads("read(file)"),
            "readv" => Use::Reads("readv(file)"),
            "fread" | "fgets" | "getline" => Use::Reads("read(file)"),
            "pread" => Use::Reads("pread64"),
            "write" | "writev" | "pwrite" | "pwritev" | "fwrite" | "fputs" | "fflush" => Use::Writes,
            "fsync" | "fdatasync" => Use::Writes,
            _ => Use::Other,
        }
    }
}

/// For each of a thread's calls, in order: the system call on a file, where the function's name alone does not say that it is on one. A
/// call within such a function is, and one between the opening of a file and the next `close`, if all between them read or write: a device
/// that stays open is followed by others.
pub(super) fn system_calls(trace: &Trace, calls: impl Iterator<Item = CallId>) -> Vec<Option<&'static str>> {
    let calls: Vec<CallId> = calls.collect();
    let uses: Vec<Use> = calls.iter().map(|call| Use::of(trace.text(trace.calls.name[*call]))).collect();
    let opened = opened(&uses);
    let system_call = |at: usize| {
        let is_of_file = || opened[at] || is_within_file(trace, trace.calls.stack[calls[at]]);
        match uses[at] {
            Use::Reads(call) if is_of_file() => Some(call),
            Use::Writes if is_of_file() => Some("write(file)"),
            // What was written may go to the disk only now.
            Use::Closes if opened[at] => {
                let since = uses[..at].iter().rev().take_while(|of| **of != Use::Opens);
                since.into_iter().any(|of| *of == Use::Writes).then_some("write(file)")
            }
            Use::Opens | Use::Reads(_) | Use::Writes | Use::Closes | Use::Other => None,
        }
    };
    (0..calls.len()).map(system_call).collect()
}

/// Whether each call is between the opening of a file and its `close`.
fn opened(uses: &[Use]) -> Vec<bool> {
    let (mut opened, mut from) = (vec![false; uses.len()], None);
    for (at, of) in uses.iter().enumerate() {
        match of {
            Use::Opens => from = Some(at),
            Use::Reads(_) | Use::Writes => {}
            Use::Closes => from.take().into_iter().for_each(|from: usize| opened[from..=at].fill(true)),
            Use::Other => from = None,
        }
    }
    opened
}

/// Whether a stack has a function that reads or writes files.
fn is_within_file(trace: &Trace, stack: StackId) -> bool {
    let Trace { stacks, frames, .. } = trace;
    let mut callers = successors(stack.some(), |stack| stacks.caller[stack.index()].some());
    callers.any(|stack| {
        let frame = stacks.frame[stack.index()].some();
        let function = frame.map_or("", |frame| trace.text(frames.function[frame.index()]));
        OF_FILES.iter().any(|part| function.contains(part))
    })
}
