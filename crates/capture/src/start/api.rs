//! Functions that a recorded program calls to say what matters: windows, which are recorded even if the rest is not, and
//! ranges. The Python package looks them up among all libraries of the process; so can any program (docs/recording.md).

use crate::start::control;
use crate::write::{process, texts, thread_writer};
use interpose::Ticks;
use libc::{c_char, c_int};
use spool::Range;
use std::ffi::CStr;

/// Result of [`holdup_window_open`] where the process is not recorded.
const NOT_RECORDED: Ticks = Ticks::MIN;

/// Opens a window and returns when, in ticks; recording is on until it is closed. The least number where it cannot be
/// recorded: `holdup record` is gone or recording was switched too often.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn holdup_window_open() -> Ticks {
    process::share();
    let Some(shared) = process::shared() else { return NOT_RECORDED };
    let is_on = shared.control.open(interpose::monotonic);
    // Now rather than at the next call.
    control::idle();
    if is_on { interpose::now() } else { NOT_RECORDED }
}

/// Closes a window that was opened at `start`. `name` is that of a range over it. Returns whether the range was recorded: it
/// is unless the process did not initialize CUDA, or the window was not opened.
///
/// # Safety
///
/// `name` ends in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn holdup_window_close(name: *const c_char, start: Ticks) -> c_int {
    // SAFETY: the caller's promise.
    let is_written = unsafe { holdup_range(name, start) };
    if let Some(shared) = process::shared() {
        shared.control.close(interpose::monotonic);
        control::look();
    }
    is_written
}

/// The time, in ticks: the start of a range.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn holdup_now() -> Ticks {
    interpose::now()
}

/// Records a range of the calling thread from `start` until now, ticks. Returns whether it did.
///
/// # Safety
///
/// `name` ends in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn holdup_range(name: *const c_char, start: Ticks) -> c_int {
    if start == NOT_RECORDED || process::header().is_none() {
        return 0;
    }
    let end = interpose::now();
    let written = thread_writer::here(|writer| {
        // SAFETY: the caller's promise.
        let name = texts::intern(writer, unsafe { CStr::from_ptr(name) }.to_bytes());
        writer.append(Range::KIND, name, &[Range { start, end, domain: 0 }.bytes()])
    });
    written.unwrap_or(false).into()
}
