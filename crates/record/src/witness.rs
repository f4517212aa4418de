//! Tells whether a signal went to this process alone or to its whole process group.
//!
//! The kernel says who sent a signal, not to whom else: `kill PID` and `kill -- -GROUP` look the
//! same, and after the second the program has its signal already. So a process that does nothing
//! but wait for signals stands in the same group, and in the same cgroup.

use libc::{c_int, c_long, pid_t, sigset_t};
use std::mem::MaybeUninit;
use std::time::Duration;

/// How long the witness may take to hear what this process heard: 25 looks, 2 ms apart. To a
/// process group the kernel sends in one go, but a busy machine wakes the witness late; service
/// managers send to one process after another. Signals to this process alone are late by so much.
const LOOKS: u32 = 25;
const LOOK: Duration = Duration::from_millis(2);

/// A process that ends with the number of the first signal it hears.
pub struct Witness {
    pid: Option<pid_t>,
    signals: sigset_t,
}

impl Witness {
    /// Starts listening for signals, which this thread must hold back already.
    pub fn start(signals: sigset_t) -> Witness {
        Witness { pid: start(&signals), signals }
    }

    /// Whether the witness heard this signal too, as it does when others got it as well.
    pub fn heard(&mut self, signal: c_int) -> bool {
        for look in 0..LOOKS {
            if let Some(heard) = self.said() {
                *self = Witness::start(self.signals);
                return heard == signal;
            }
            if look + 1 < LOOKS {
                std::thread::sleep(LOOK);
            }
        }
        false
    }

    /// What it heard, once it has ended.
    fn said(&mut self) -> Option<c_int> {
        let mut status = 0;
        // SAFETY: writes to `status`; the process has not been waited for.
        let ended = unsafe { libc::waitpid(self.pid?, &mut status, libc::WNOHANG | libc::__WCLONE) };
        if ended == 0 {
            return None;
        }
        self.pid = None;
        Some(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 0 })
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            // SAFETY: plain system calls on a process that has not been waited for.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), libc::__WCLONE);
            }
        }
    }
}

/// Starts the process; `None` when that fails, and signals for all are then passed on as well.
fn start(signals: &sigset_t) -> Option<pid_t> {
    // SAFETY: a fork whose end sends no signal and which waits for any child do not see. The new
    // process makes system calls only, and returns nowhere.
    unsafe {
        let this = libc::getpid();
        let zero: c_long = 0;
        match libc::syscall(libc::SYS_clone, zero, zero, zero, zero, zero) as pid_t {
            0 => listen(this, signals),
            pid => Some(pid).filter(|pid| *pid > 0),
        }
    }
}

/// The witness's whole life.
fn listen(parent: pid_t, signals: &sigset_t) -> ! {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: system calls on this process, which shares its parent's memory as a copy.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        while libc::getppid() == parent {
            let heard = libc::sigwaitinfo(signals, info.as_mut_ptr());
            if heard > 0 {
                libc::_exit(heard);
            }
        }
        libc::_exit(0)
    }
}
