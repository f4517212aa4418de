//! Signals to this process while a program runs: blocked, read one by one, and passed on if the program did not get them
//! itself.

use crate::descendants;
use libc::{c_int, pid_t, sigset_t};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Signals by which users and job schedulers end or inform a program, and those for its faults: any process may send
/// them. For a fault of this process itself, the kernel ignores that they are blocked.
const MESSAGES: [c_int; 20] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGUSR1,
    libc::SIGSEGV,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSYS,
];

/// Timers that a process keeps when it executes another program, but that its children do not inherit.
const TIMERS: [c_int; 3] = [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF];

/// Signals by which a terminal stops a program.
const STOPS: [c_int; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// A signal that arrived.
#[derive(Clone, Copy)]
pub struct Signal {
    /// Its number.
    pub number: c_int,
    /// The sender; `None` for the kernel, mostly on behalf of a terminal.
    sender: Option<pid_t>,
}

/// The meaning of a signal.
pub enum Meaning {
    /// A child ended, stopped or continued.
    Child,
    /// This process continues after a stop.
    Continue,
    /// This process is asked to stop.
    Stop,
    /// Anything else.
    Message,
}

impl Signal {
    /// The meaning of the signal.
    pub fn meaning(self) -> Meaning {
        match self.number {
            libc::SIGCHLD => Meaning::Child,
            libc::SIGCONT => Meaning::Continue,
            number if STOPS.contains(&number) => Meaning::Stop,
            _ => Meaning::Message,
        }
    }

    /// Whether the program must get it, if it was sent to this process and not to its whole group.
    pub fn is_for_program(self) -> bool {
        match self.sender {
            // A terminal sends to its whole foreground group, except that only the session's leader gets the signal
            // for a closed terminal.
            None => self.number == libc::SIGHUP,
            // A signal from the program itself is for its parent.
            Some(sender) => !descendants::is_ours(sender),
        }
    }
}

/// Runs before `main`, because Rust's start-up code sets SIGPIPE to ignored.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = remember;

/// Whether this process was started with SIGPIPE ignored, as by systemd.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember() {
    // SAFETY: an all-zero action is valid, and the call writes to it.
    let ignored = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action);
        action.sa_sigaction == libc::SIG_IGN
    };
    PIPE_IGNORED.store(ignored, Relaxed);
}

/// The signal handling that a program gets back before it runs.
#[derive(Clone, Copy)]
pub struct Original {
    mask: sigset_t,
    child: libc::sigaction,
    timers: [libc::itimerval; 3],
}

impl Original {
    /// Like [`Original::restore`], but also sets the timers that were set before this process was executed: they are
    /// meant for the program. Async-signal-safe.
    pub fn restore_all(&self) -> io::Result<()> {
        for (which, timer) in TIMERS.into_iter().zip(&self.timers) {
            // SAFETY: a value that the same function gave.
            unsafe { libc::setitimer(which, timer, null_mut()) };
        }
        self.restore()
    }

    /// Restores the signal handling from before [`Signals::hold`]. Async-signal-safe.
    pub fn restore(&self) -> io::Result<()> {
        // SAFETY: both values were filled by the same functions.
        let failed = unsafe {
            if PIPE_IGNORED.load(Relaxed) {
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            }
            libc::sigaction(libc::SIGCHLD, &self.child, null_mut()) != 0
                || libc::sigprocmask(libc::SIG_SETMASK, &self.mask, null_mut()) != 0
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Blocks this thread's signals; dropping it restores the earlier handling.
pub struct Signals {
    held: sigset_t,
    original: Original,
}

impl Signals {
    /// Blocks signals from now on. Other threads, if there are any, still get the process's signals.
    pub fn hold() -> Signals {
        let (held, mask) = (all(), MaybeUninit::<sigset_t>::zeroed());
        // SAFETY: an all-zero action is valid: the default.
        let (mut mask, mut child) = (mask, unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() });
        // A process that ignores SIGCHLD, or inherited that, cannot read how its children end.
        let default = child;
        // SAFETY: writes to the two values, which live here.
        let mask = unsafe {
            libc::sigprocmask(libc::SIG_BLOCK, &held, mask.as_mut_ptr());
            libc::sigaction(libc::SIGCHLD, &default, &mut child);
            mask.assume_init()
        };
        Signals { held, original: Original { mask, child, timers: stop_timers() } }
    }

    /// The blocked signals that a program may handle.
    pub fn messages(&self) -> sigset_t {
        set(messages())
    }

    /// The signal handling from before.
    pub fn original(&self) -> Original {
        self.original
    }

    /// The next signal; `None` if none arrives in `patience` or the wait is interrupted.
    pub fn next(&self, patience: Duration) -> Option<Signal> {
        let time = libc::timespec {
            tv_sec: patience.as_secs() as libc::time_t,
            tv_nsec: patience.subsec_nanos().into(),
        };
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: writes to `info`, which is valid as zeros too.
        let (number, info) =
            unsafe { (libc::sigtimedwait(&self.held, info.as_mut_ptr(), &time), info.assume_init()) };
        // SAFETY: a signal that a process sent has a sender; it is not read for others.
        let sender = (info.si_code <= 0).then(|| unsafe { info.si_pid() });
        (number > 0).then_some(Signal { number, sender })
    }

    /// Drops the signals that have arrived: they were meant for a program that has ended, like the interrupt that
    /// ended it.
    pub fn forget(&self) {
        while self.next(Duration::ZERO).is_some() {}
    }

    /// Stops this process as the signal would have, and returns when it continues.
    pub fn stop(&self, number: c_int) {
        let only = set([number]);
        // SAFETY: plain system calls on initialized sets. This process has no handler for the unblocked signal: it
        // stops, or it was started with the signal ignored.
        unsafe {
            libc::raise(number);
            libc::sigprocmask(libc::SIG_UNBLOCK, &only, null_mut());
            libc::sigprocmask(libc::SIG_BLOCK, &only, null_mut());
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let _ = self.original.restore();
    }
}

/// Stops the timers that send signals; returns the rest of each.
fn stop_timers() -> [libc::itimerval; 3] {
    TIMERS.map(|which| {
        let zero = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let none = libc::itimerval { it_interval: zero, it_value: zero };
        let mut left = none;
        // SAFETY: reads the one value and writes the other.
        unsafe { libc::setitimer(which, &none, &mut left) };
        left
    })
}

/// Every signal that is blocked.
fn all() -> sigset_t {
    set(messages().chain(STOPS).chain([libc::SIGCHLD, libc::SIGCONT]))
}

/// Signals that a program may handle, including the real-time ones.
fn messages() -> impl Iterator<Item = c_int> {
    MESSAGES.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

fn set(signals: impl IntoIterator<Item = c_int>) -> sigset_t {
    let mut set = MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: initializes the set before anything else.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        signals.into_iter().for_each(|signal| _ = libc::sigaddset(set.as_mut_ptr(), signal));
        set.assume_init()
    }
}
