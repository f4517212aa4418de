//! `prctl` and `syscall`, by which a program forbids itself system calls, and executes another one.

use crate::start::executes;
use crate::sys::c_library::{self, Real};
use crate::sys::jumps::jumps;
use crate::sys::seccomp;
use crate::sys::shielded::shielded;
use crate::write::process;
use libc::{c_int, c_long, c_void};
use spool::Full;

/// `PR_SET_SECCOMP` and `PR_SET_TSC`, and of either the argument that also forbids to read the processor's counter: strict
/// mode, and a signal for each reading.
const SET_SECCOMP: c_int = libc::PR_SET_SECCOMP;
const SET_COUNTER: c_int = 26;
const STRICT: usize = 1;
const SIGNALED: usize = 2;
/// `SECCOMP_SET_MODE_STRICT`
const STRICT_MODE: usize = 0;

/// The program forbids itself system calls.
fn forbid() {
    // Programs that it executes are counted there.
    shielded(process::share);
    seccomp::forbid();
}

/// The program may not read the processor's counter any more, by which calls are timed: its recording ends here.
fn stop() {
    forbid();
    process::stop(Full::Seccomp);
    interpose::stop();
}

fn restrict(option: c_int, argument: usize) {
    match (option, argument) {
        (SET_SECCOMP, STRICT) | (SET_COUNTER, SIGNALED) => stop(),
        (SET_SECCOMP, _) => forbid(),
        _ => {}
    }
}

/// Where `prctl` is to jump.
extern "C-unwind" fn before_prctl(option: c_int, argument: usize) -> *mut c_void {
    restrict(option, argument);
    c_library::real(Real::Prctl)
}

/// Where `syscall` is to jump.
extern "C-unwind" fn before_syscall(number: c_long, first: usize, second: usize) -> *mut c_void {
    match (number, first) {
        (libc::SYS_execve, _) => return executes::execve_by_number as *mut c_void,
        (libc::SYS_execveat, _) => return executes::execveat_by_number as *mut c_void,
        (libc::SYS_seccomp, STRICT_MODE) => stop(),
        (libc::SYS_seccomp, _) => forbid(),
        (libc::SYS_prctl, option) => restrict(option as c_int, second),
        _ => {}
    }
    c_library::real(Real::Syscall)
}

jumps! {
    /// `prctl`: a jump to the next one, with all its arguments.
    prctl after before_prctl, else -1;
    /// `syscall`, as `prctl`.
    syscall after before_syscall, else -1;
}
