//! Signals to end reach the program, however the tests were started.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the keys of a terminal and a hangup end the program. `nohup`, and a shell for its commands in the background, ignore
/// these signals, and holdup leaves an ignored one ignored.
pub fn interruptible(command: &mut Command) -> &mut Command {
    let default = || {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
            // SAFETY: a plain system call, which is async-signal-safe.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: `default` only makes system calls: it neither allocates nor locks.
    unsafe { command.pre_exec(default) }
}
