//! The end of a thread that is known.

use crate::hooks::hooks;
use crate::thread::Thread;
use crate::{gil, pending_waits, tally, waiters};
use libc::c_void;

/// A thread ends.
///
/// # Safety
/// `thread` is the calling thread's [`Thread`], or null.
pub unsafe extern "C-unwind" fn ended(thread: *mut c_void) {
    // What it kept is its parent's in a child that ran no handler of `fork`.
    if hooks().is_none() {
        return;
    }
    // SAFETY: the caller's promise; a Thread stays.
    if let Some(thread) = unsafe { thread.cast::<Thread>().as_ref() } {
        // From here on a signal handler gets a place of its own.
        thread.leave();
        waiters::ended(thread);
        gil::ended(thread);
        pending_waits::record(thread);
        tally::ended(thread);
        let lost = pending_waits::clear(thread);
        if let Some(hooks) = hooks() {
            (0..lost).for_each(|_| (hooks.wait_lost)(thread));
        }
        thread.end();
    }
}
