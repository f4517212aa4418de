//! While a workload runs, a signal to end makes it stop in order instead.

use crate::wire::SIGNALS;
use std::sync::Mutex;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

/// The signal that came last; 0 before.
static CAME: AtomicI32 = AtomicI32::new(0);

/// Who has the handlers installed: one at a time, since they are the process's.
static OWNER: Mutex<()> = Mutex::new(());

extern "C" fn note(signal: i32) {
    CAME.store(signal, Relaxed);
}

fn taken() -> Option<i32> {
    Some(CAME.swap(0, Relaxed)).filter(|signal| *signal != 0)
}

/// Holds the signals for as long as it lives; then whoever handled them before does again, and gets the one that came and
/// that nobody was told of.
pub struct Signals {
    before: [libc::sigaction; 3],
    _alone: std::sync::MutexGuard<'static, ()>,
}

impl Signals {
    /// Holds the signals. One that was ignored, as under `nohup`, stays so.
    pub fn hold() -> Signals {
        let alone = OWNER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        CAME.store(0, Relaxed);
        // SAFETY: all zeros is a valid value of this struct.
        let mut before: [libc::sigaction; 3] = unsafe { std::mem::zeroed() };
        for (signal, before) in SIGNALS.into_iter().zip(&mut before) {
            // SAFETY: the handler stores a number and does nothing else. Without SA_RESTART, waiting calls return.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = note as *const () as usize;
                libc::sigaction(signal, &action, before);
                if before.sa_sigaction == libc::SIG_IGN {
                    libc::sigaction(signal, before, std::ptr::null_mut());
                }
            }
        }
        Signals { before, _alone: alone }
    }

    /// Whether a signal came that nobody was told of.
    pub fn came(&self) -> bool {
        CAME.load(Relaxed) != 0
    }

    /// The signal that came, if one did, for somebody who tells of it.
    pub fn take(&self) -> Option<i32> {
        taken()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, before) in SIGNALS.into_iter().zip(&self.before) {
            // SAFETY: what was there before.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        }
        if let Some(signal) = taken() {
            // SAFETY: takes no pointer.
            unsafe { libc::raise(signal) };
        }
    }
}
