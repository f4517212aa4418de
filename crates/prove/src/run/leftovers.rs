//! The end of a program and of all processes that it started.

use libc::pid_t;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Waits until a child has ended, and leaves it a zombie.
pub fn wait_for_end(pid: pid_t) {
    loop {
        // SAFETY: all zeros is a valid value of this struct.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the struct is valid; the call only waits.
        let done =
            unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, libc::WEXITED | libc::WNOWAIT) };
        let is_interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if done == 0 || !is_interrupted {
            return;
        }
    }
}

/// Ends every process of a group whose leader is a child that nobody has waited for yet.
pub fn end_group(group: pid_t) {
    // SAFETY: sends a signal. The leader's number is not anybody else's before it was waited for.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}

/// Lets the kernel end the program when the thread that starts it ends, even if that is killed.
#[cfg(target_os = "linux")]
pub fn end_with_this(command: &mut Command) {
    let parent = std::process::id() as pid_t;
    // SAFETY: between fork and exec only system calls are made.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
            // It may have ended before that.
            match libc::getppid() == parent {
                true => Ok(()),
                false => Err(std::io::Error::from_raw_os_error(libc::ESRCH)),
            }
        });
    }
}

/// Other systems have no such signal.
#[cfg(not(target_os = "linux"))]
pub fn end_with_this(_: &mut Command) {}

#[cfg(target_os = "linux")]
pub use linux::Leftovers;

#[cfg(target_os = "linux")]
mod linux {
    use super::pid_t;
    use std::time::{Duration, Instant};

    /// How long to wait for killed processes: one that waits for a device in the kernel ends only after that.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// Ends processes that left the program's group and outlived it.
    pub struct Leftovers {
        /// Whether they become children of this process.
        adopts: bool,
    }

    impl Leftovers {
        /// Makes this process the parent of descendants without one. It does not if it has children already, such as those of
        /// a shell that executed it in its place: theirs could not be told apart.
        pub fn new() -> Leftovers {
            // SAFETY: sets an attribute of this process. Kernels before 3.4 lack it.
            let adopt = || unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 };
            Leftovers { adopts: !has_children() && adopt() }
        }

        /// Ends all children of this process, and theirs as they become its own.
        pub fn end(&self) {
            let started = Instant::now();
            while self.adopts && has_children() && started.elapsed() < PATIENCE {
                for pid in children() {
                    // SAFETY: sends a signal to a child that nobody has waited for.
                    unsafe { libc::kill(pid, libc::SIGKILL) };
                }
                // SAFETY: waits for children that have ended.
                while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
                if has_children() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    fn has_children() -> bool {
        // SAFETY: all zeros is a valid value of this struct.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the struct is valid; the call changes no process.
        unsafe { libc::waitid(libc::P_ALL, 0, &mut info, options) == 0 }
    }

    /// The processes whose parent this one is.
    fn children() -> Vec<pid_t> {
        let this = std::process::id();
        let parent = |pid: pid_t| -> Option<u32> {
            let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name before them may hold any text, even parentheses.
            line.rsplit(')').next()?.split_ascii_whitespace().nth(1)?.parse().ok()
        };
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        all.filter(|pid| parent(*pid) == Some(this)).collect()
    }
}

/// Other systems give orphans to their first process: those that left the group go on.
#[cfg(not(target_os = "linux"))]
pub struct Leftovers;

#[cfg(not(target_os = "linux"))]
impl Leftovers {
    pub fn new() -> Leftovers {
        Leftovers
    }

    pub fn end(&self) {}
}
