//! Signals to this process while a program runs: held back, looked at one by one, and passed on
//! when the program has not got them itself.

use crate::descendants;
use libc::{c_int, pid_t, sigset_t};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Signals by which people and job schedulers end or inform a program, and those that say what it did
/// wrong: anyone may send them. Where this process itself does wrong, the kernel does not ask who holds them.
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

/// Timers that a process keeps when it executes another program, but its children do not get.
const TIMERS: [c_int; 3] = [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF];

/// Signals by which a terminal stops a program.
const STOPS: [c_int; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// A signal that came.
#[derive(Clone, Copy)]
pub struct Signal {
    /// Its number.
    pub number: c_int,
    /// Who sent it; `None` is the kernel: for a terminal, mostly.
    sender: Option<pid_t>,
}

/// What a signal is about.
pub enum Meaning {
    /// A child ended, stopped or went on.
    Child,
    /// This process goes on after a stop.
    Continue,
    /// This process is asked to stop.
    Stop,
    /// Anything else.
    Message,
}

impl Signal {
    /// What it is about.
    pub fn meaning(self) -> Meaning {
        match self.number {
            libc::SIGCHLD => Meaning::Child,
            libc::SIGCONT => Meaning::Continue,
            number if STOPS.contains(&number) => Meaning::Stop,
            _ => Meaning::Message,
        }
    }

    /// Whether the program should get it, given that it was sent to this process and not to its
    /// whole group.
    pub fn is_for_program(self) -> bool {
        match self.sender {
            // A terminal sends to its whole foreground group, except that the session's leader alone
            // learns that the terminal is gone.
            None => self.number == libc::SIGHUP,
            // The program means its parent, not itself.
            Some(sender) => !descendants::is_ours(sender),
        }
    }
}

/// Runs before `main`: Rust's start-up code ignores SIGPIPE whatever it was before.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = remember;

/// Whoever started this process had it ignore SIGPIPE, as systemd does.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember() {
    // SAFETY: an all-zero action is valid, and is written to.
    let ignored = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action);
        action.sa_sigaction == libc::SIG_IGN
    };
    PIPE_IGNORED.store(ignored, Relaxed);
}

/// What a program started by this process gets back before it runs.
#[derive(Clone, Copy)]
pub struct Original {
    mask: sigset_t,
    child: libc::sigaction,
    timers: [libc::itimerval; 3],
}

impl Original {
    /// As [`Original::restore`], and sets the timers that whoever executed this process had set: for the
    /// program, which was to run in its place. Async-signal-safe.
    pub fn restore_all(&self) -> io::Result<()> {
        for (which, timer) in TIMERS.into_iter().zip(&self.timers) {
            // SAFETY: a value that the same function gave.
            unsafe { libc::setitimer(which, timer, null_mut()) };
        }
        self.restore()
    }

    /// Handles signals again as before they were held. Async-signal-safe.
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

/// Holds this thread's signals; as before when dropped.
pub struct Signals {
    held: sigset_t,
    original: Original,
}

impl Signals {
    /// Holds signals from now on. Signals for the process come to other threads, if there are any.
    pub fn hold() -> Signals {
        let (held, mask) = (all(), MaybeUninit::<sigset_t>::zeroed());
        // SAFETY: an all-zero action is valid: the default.
        let (mut mask, mut child) = (mask, unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() });
        // Who ignores SIGCHLD, or inherited that, is not told how children end.
        let default = child;
        // SAFETY: writes to the two values, which live here.
        let mask = unsafe {
            libc::sigprocmask(libc::SIG_BLOCK, &held, mask.as_mut_ptr());
            libc::sigaction(libc::SIGCHLD, &default, &mut child);
            mask.assume_init()
        };
        Signals { held, original: Original { mask, child, timers: stop_timers() } }
    }

    /// Those of the held signals that mean something to a program.
    pub fn messages(&self) -> sigset_t {
        set(messages())
    }

    /// How signals were handled before.
    pub fn original(&self) -> Original {
        self.original
    }

    /// The next signal; `None` when none comes in that time, or sooner.
    pub fn next(&self, patience: Duration) -> Option<Signal> {
        let time = libc::timespec {
            tv_sec: patience.as_secs() as libc::time_t,
            tv_nsec: patience.subsec_nanos().into(),
        };
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: writes to `info`, which is valid as zeros too.
        let (number, info) =
            unsafe { (libc::sigtimedwait(&self.held, info.as_mut_ptr(), &time), info.assume_init()) };
        // SAFETY: signals that a process sends say which, and others are not asked.
        let sender = (info.si_code <= 0).then(|| unsafe { info.si_pid() });
        (number > 0).then_some(Signal { number, sender })
    }

    /// Drops the signals that have come: they were meant for a program that has ended, like the
    /// interrupt that ended it.
    pub fn forget(&self) {
        while self.next(Duration::ZERO).is_some() {}
    }

    /// Stops this process as that signal would have, and returns when it goes on.
    pub fn stop(&self, number: c_int) {
        let only = set([number]);
        // SAFETY: plain system calls on initialized sets. What the signal does when it is not held
        // is not this process's doing: it stops, or whoever started it ignored the signal.
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

/// Stops the timers that ring by signals; what was left of each.
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

/// Every signal that is held.
fn all() -> sigset_t {
    set(messages().chain(STOPS).chain([libc::SIGCHLD, libc::SIGCONT]))
}

/// Signals that mean something to a program, the real-time ones too.
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
