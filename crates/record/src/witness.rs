//! Detects whether a signal went only to this process or to its whole process group.
//!
//! The kernel gives the sender of a signal, not its other receivers: `kill PID` and `kill -- -GROUP` look the same, and
//! after the second the program already has its signal. So a process that only waits for signals, the witness, runs in
//! the same group and the same cgroup.

use crate::signals::{Signal, Signals};
use libc::{c_int, c_long, pid_t, sigset_t};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32};
use std::time::Duration;

/// How long the witness may take to get a signal that this process got: 25 checks, 2 ms apart. The kernel sends to a
/// process group in one step, but a busy machine wakes the witness late; service managers send to one process after
/// another. Signals to only this process are delayed by that time.
const LOOKS: u32 = 25;
const LOOK: Duration = Duration::from_millis(2);

/// A process that waits for a signal gets it in less than this time, ns, however busy the machine is.
const LATE: i64 = 1_000_000_000;

/// Signals are numbered from 1 to 64.
const NUMBERS: usize = 65;

/// The witness's record of a signal, in memory that both processes share. Zeros are valid.
struct Heard {
    /// How often it arrived.
    count: AtomicU32,
    /// When it last arrived, `CLOCK_MONOTONIC`, ns.
    last: AtomicI64,
}

/// A process that counts the signals that it gets.
pub struct Witness {
    pid: Option<pid_t>,
    heard: Option<NonNull<[Heard; NUMBERS]>>,
    /// How many of these signals this process has accounted for.
    told: [u32; NUMBERS],
}

impl Witness {
    /// Starts the witness for the messages among the blocked signals.
    pub fn start(signals: &Signals) -> Witness {
        let heard = share();
        let pid = heard.and_then(|heard| start(&signals.messages(), heard));
        Witness { pid, heard, told: [0; NUMBERS] }
    }

    /// Whether the witness got this signal too, because it went to the whole group.
    pub fn heard(&mut self, signal: c_int) -> bool {
        for look in 0..LOOKS {
            if self.is_told(signal) {
                return true;
            }
            if look + 1 < LOOKS {
                std::thread::sleep(LOOK);
            }
        }
        false
    }

    /// Whether the witness got the signal once more than this process has accounted for.
    fn is_told(&mut self, signal: c_int) -> bool {
        let Some((heard, told)) = self.of(signal as usize) else { return false };
        let more = heard.count.load(Acquire) != *told;
        *told = told.wrapping_add(more.into());
        more
    }

    fn of(&mut self, signal: usize) -> Option<(&Heard, &mut u32)> {
        // SAFETY: mapped until this is dropped, and consists of atomic numbers.
        let all = unsafe { self.heard?.as_ref() };
        Some((all.get(signal)?, self.told.get_mut(signal)?))
    }

    /// Takes the next signal. If none is left, signals that the witness got before are forgotten: the kernel does not
    /// queue a signal twice, so this process gets no signal of its own for them. Otherwise a later signal to only this
    /// process would seem to have gone to the group.
    pub fn next(&mut self, signals: &Signals, patience: Duration) -> Option<Signal> {
        let began = now();
        signals.next(Duration::ZERO).or_else(|| {
            self.forget(began);
            let next = signals.next(patience);
            self.forget(now() - LATE);
            next
        })
    }

    /// Forgets the signals that the witness got before that time.
    fn forget(&mut self, before: i64) {
        for signal in 0..NUMBERS {
            if let Some((heard, told)) = self.of(signal)
                && heard.last.load(Acquire) < before
            {
                *told = heard.count.load(Relaxed);
            }
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // SAFETY: plain system calls, on a process that nothing has waited for and on memory that only that process
        // still uses.
        unsafe {
            if let Some(pid) = self.pid {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, null_mut(), libc::__WCLONE);
            }
            if let Some(heard) = self.heard {
                libc::munmap(heard.as_ptr().cast(), size_of::<[Heard; NUMBERS]>());
            }
        }
    }
}

/// The shared memory; `None` on failure: then signals to the whole group are passed on as well.
fn share() -> Option<NonNull<[Heard; NUMBERS]>> {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, of zeros.
    let memory = unsafe { libc::mmap(null_mut(), size_of::<[Heard; NUMBERS]>(), access, flags, -1, 0) };
    if memory == libc::MAP_FAILED { None } else { NonNull::new(memory.cast()) }
}

/// Starts the witness; `None` on failure, as for [`share`].
fn start(signals: &sigset_t, heard: NonNull<[Heard; NUMBERS]>) -> Option<pid_t> {
    // SAFETY: a fork whose end sends no signal and which a wait for any child ignores. The new process only makes
    // system calls and does not return.
    unsafe {
        let this = libc::getpid();
        let zero: c_long = 0;
        match libc::syscall(libc::SYS_clone, zero, zero, zero, zero, zero) as pid_t {
            0 => listen(this, signals, heard.as_ref()),
            pid => Some(pid).filter(|pid| *pid > 0),
        }
    }
}

/// The witness's whole life.
fn listen(parent: pid_t, signals: &sigset_t, all: &[Heard; NUMBERS]) -> ! {
    // SAFETY: system calls on this process, which has a copy of its parent's memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        while libc::getppid() == parent {
            let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
            let signal = libc::sigwaitinfo(signals, info.as_mut_ptr());
            if let Some(heard) = usize::try_from(signal).ok().and_then(|signal| all.get(signal)) {
                heard.last.store(now(), Relaxed);
                heard.count.fetch_add(1, Release);
            }
        }
        libc::_exit(0)
    }
}

fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
