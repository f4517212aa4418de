//! Calls of the operating system's runtime library that are on files: `read` and `write` may be on a socket or a pipe as well.

use std::iter::successors;
use trace::{CallId, StackId, Trace};

/// Parts of the names of functions that read and write files alone: Python's, the C library's and the C++ library's.
const OF_FILES: [&str; 6] =
    ["_io_FileIO_", "_IO_new_file_", "_IO_file_", "__basic_file", "basic_filebuf", "java_io_File"];

/// For each of a thread's calls, in order: the system call on a file, where the function's name alone does not say that it is on one. A
/// call within such a function is, and one between the opening of a file and the next `close`.
pub(super) fn system_calls(trace: &Trace, calls: impl Iterator<Item = CallId>) -> Vec<Option<&'static str>> {
    let mut open = None::<Opened>;
    calls
        .map(|call| {
            let function = trace.text(trace.calls.name[call]);
            let is_of_file = || open.is_some() || is_within_file(trace, trace.calls.stack[call]);
            match function.trim_start_matches('_').trim_end_matches("64") {
                "open" | "fopen" | "openat" => {
                    open = Some(Opened { written: false });
                    None
                }
                // What was written may go to the disk only now.
                "close" | "fclose" => open.take().filter(|opened| opened.written).map(|_| "write(file)"),
                "read" if is_of_file() => Some("read(file)"),
                "readv" if is_of_file() => Some("readv(file)"),
                "write" | "writev" | "pwrite" | "pwritev" | "fwrite" if is_of_file() => {
                    open.iter_mut().for_each(|opened| opened.written = true);
                    Some("write(file)")
                }
                _ => None,
            }
        })
        .collect()
}

/// A file that is open.
struct Opened {
    /// Whether something was written to it.
    written: bool,
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
