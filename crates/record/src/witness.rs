//! Tells whether a signal went to this process alone or to its whole process group.
//!
//! The kernel says who sent a signal, not to whom else: `kill PID` and `kill -- -GROUP` look the
//! same, and after the second the program has its signal already. So a process that does nothing
//! but wait for signals stands in the same group, and in the same cgroup.

use crate::signals::{Signal, Signals};
use libc::{c_int, c_long, pid_t, sigset_t};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32};
use std::time::Duration;

/// How long the witness may take to hear what this process heard: 25 looks, 2 ms apart. To a
/// process group the kernel sends in one go, but a busy machine wakes the witness late; service
/// managers send to one process after another. Signals to this process alone are late by so much.
const LOOKS: u32 = 25;
const LOOK: Duration = Duration::from_millis(2);

/// A process that waits for a signal has it sooner than this, however busy the machine is, ns.
const LATE: i64 = 1_000_000_000;

/// Signals are numbered from 1 to 64.
const NUMBERS: usize = 65;

/// What the witness heard of a signal, in memory that both processes share. Zeros are valid.
struct Heard {
    /// How often.
    count: AtomicU32,
    /// When last, `CLOCK_MONOTONIC`, ns.
    last: AtomicI64,
}

/// A process that notes the signals that it hears.
pub struct Witness {
    pid: Option<pid_t>,
    heard: Option<NonNull<[Heard; NUMBERS]>>,
    /// How much of that this process knows.
    told: [u32; NUMBERS],
}

impl Witness {
    /// Starts listening for the messages among the signals that are held.
    pub fn start(signals: &Signals) -> Witness {
        let heard = share();
        let pid = heard.and_then(|heard| start(&signals.messages(), heard));
        Witness { pid, heard, told: [0; NUMBERS] }
    }

    /// Whether the witness heard this signal too, as it does when others got it as well.
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

    /// Whether it heard the signal once more than this process was told.
    fn is_told(&mut self, signal: c_int) -> bool {
        let Some((heard, told)) = self.of(signal as usize) else { return false };
        let more = heard.count.load(Acquire) != *told;
        *told = told.wrapping_add(more.into());
        more
    }

    fn of(&mut self, signal: usize) -> Option<(&Heard, &mut u32)> {
        // SAFETY: mapped until this is dropped, and made of atomic numbers.
        let all = unsafe { self.heard?.as_ref() };
        Some((all.get(signal)?, self.told.get_mut(signal)?))
    }

    /// Takes the next signal. What the witness heard before there was none left to take, this process was
    /// not told of by a signal of its own, as the kernel does not queue the same one twice: nobody will ask
    /// about it, least of all when the same signal comes to this process alone.
    pub fn next(&mut self, signals: &Signals, patience: Duration) -> Option<Signal> {
        let began = now();
        signals.next(Duration::ZERO).or_else(|| {
            self.forget(began);
            let next = signals.next(patience);
            self.forget(now() - LATE);
            next
        })
    }

    /// What it heard before that moment is not asked about any more.
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
        // SAFETY: plain system calls, on a process that has not been waited for and on memory that nobody
        // but that process looks at any more.
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

/// Memory for what is heard; `None` when there is none, and signals for all are then passed on as well.
fn share() -> Option<NonNull<[Heard; NUMBERS]>> {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, of zeros.
    let memory = unsafe { libc::mmap(null_mut(), size_of::<[Heard; NUMBERS]>(), access, flags, -1, 0) };
    if memory == libc::MAP_FAILED { None } else { NonNull::new(memory.cast()) }
}

/// Starts the process; `None` when that fails, as above.
fn start(signals: &sigset_t, heard: NonNull<[Heard; NUMBERS]>) -> Option<pid_t> {
    // SAFETY: a fork whose end sends no signal and which waits for any child do not see. The new
    // process makes system calls only, and returns nowhere.
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
    // SAFETY: system calls on this process, which shares its parent's memory as a copy.
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
