//! A program that ends by `_exit`, which runs no handlers: children of Python's `multiprocessing`, and all that call `os._exit`. Without
//! this, what CUPTI has not handed out by then is lost.

use crate::start::recording;
use crate::sys::seccomp;
use crate::write::process;
use interpose::Thread;
use libc::c_int;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI32};

/// How long the program's end may take longer, s: a GPU that hangs must not keep a program that gives it up, and a signal handler may have
/// interrupted CUPTI.
const MOST: libc::time_t = 2;

/// Signals that end the program meanwhile: the time is over, or CUPTI is in no state to be asked.
const SIGNALS: [c_int; 6] =
    [libc::SIGALRM, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

static STATUS: AtomicI32 = AtomicI32::new(0);
static ENDS: AtomicBool = AtomicBool::new(false);

/// `_exit`: finishes the recording, within [`MOST`] seconds.
///
/// # Safety
///
/// As `_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _exit(status: c_int) -> ! {
    if is_recorded() && !ENDS.swap(true, Relaxed) {
        STATUS.store(status, Relaxed);
        if seccomp::allows_calls() {
            limit_time();
        }
        recording::end();
    }
    exit(status)
}

/// `_Exit`, which is the same.
///
/// # Safety
///
/// As `_Exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Exit(status: c_int) -> ! {
    // SAFETY: the caller's promise.
    unsafe { _exit(status) }
}

/// Whether this process has a recording that is not finished, and its thread no call that a signal handler interrupted. A child that has its
/// parent's memory (`vfork`) ends by `_exit` if it cannot run its program.
fn is_recorded() -> bool {
    let is_open = process::header().is_some_and(|header| {
        let is_own = !seccomp::allows_calls() || header.pid.load(Relaxed) == std::process::id();
        is_own && header.finished.load(Relaxed) == 0
    });
    is_open && Thread::current().is_some_and(|thread| thread.function() == 0)
}

/// Ends the program by a signal's handler, with its status, once it has taken too long or failed.
fn limit_time() {
    // SAFETY: zeros are valid in all of these.
    let (mut action, mut set, mut timer): (libc::sigaction, libc::sigset_t, libc::itimerval) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed()) };
    action.sa_sigaction = at_last as *const () as usize;
    timer.it_value.tv_sec = MOST;
    // SAFETY: system calls with memory of this function. The program's own handlers and timer go: it has ended. The handler only makes a
    // system call.
    unsafe {
        for signal in SIGNALS {
            libc::sigaction(signal, &action, null_mut());
            libc::sigaddset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, null_mut());
        libc::setitimer(libc::ITIMER_REAL, &timer, null_mut());
    }
}

extern "C" fn at_last(_: c_int) {
    exit(STATUS.load(Relaxed))
}

fn exit(status: c_int) -> ! {
    loop {
        // SAFETY: ends the process, with all its threads.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

/// In a fork's child: it has not ended.
pub fn forget() {
    ENDS.store(false, Relaxed);
}
