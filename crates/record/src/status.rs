//! How a program ended, and how this process ends in the same way.

use std::io::Write;

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// By itself, with this exit status.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
}

/// Ends this process as the program ended: with its exit status or by its signal, so that a waiting parent sees no
/// difference. A signal leaves no core dump of this process; the program had its own.
pub fn die_like(status: Status) -> ! {
    match status {
        Status::Exited(code) => std::process::exit(code),
        Status::Signaled(signal) => {
            let _ = std::io::stdout().flush();
            die_by(signal);
            // The first process of a container survives signals that it sends to itself.
            std::process::exit(128 + signal)
        }
    }
}

fn die_by(signal: i32) {
    // SAFETY: plain system calls on this process; the set is initialized before it is used.
    unsafe {
        // The limit on core dumps has no effect if they are piped to a program; this has.
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        libc::signal(signal, libc::SIG_DFL);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
}
