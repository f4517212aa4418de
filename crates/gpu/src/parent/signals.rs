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

/// Holds the signals for as long as it lives; then whoever handled them before does again.
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

    /// The signal that came, if one did.
    pub fn came(&self) -> Option<i32> {
        Some(CAME.load(Relaxed)).filter(|signal| *signal != 0)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, before) in SIGNALS.into_iter().zip(&self.before) {
            // SAFETY: what was there before.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        }
    }
}
