//! While a workload runs, a signal that would end the program stops the run in order instead.

use crate::wire::SIGNALS;
use std::sync::Mutex;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

/// The last signal; 0 before.
static CAME: AtomicI32 = AtomicI32::new(0);

/// Held by the run with installed handlers: one at a time, because handlers belong to the process.
static OWNER: Mutex<()> = Mutex::new(());

extern "C" fn note(signal: i32) {
    CAME.store(signal, Relaxed);
}

fn taken() -> Option<i32> {
    Some(CAME.swap(0, Relaxed)).filter(|signal| *signal != 0)
}

/// Catches signals until it is dropped. Then the previous handlers are back, and the last signal is sent to them if it was not
/// reported.
pub struct Signals {
    before: [libc::sigaction; 3],
    _alone: std::sync::MutexGuard<'static, ()>,
}

impl Signals {
    /// Catches the signals. An ignored signal, as under `nohup`, stays ignored.
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

    /// Whether a signal arrived that was not reported.
    pub fn came(&self) -> bool {
        CAME.load(Relaxed) != 0
    }

    /// Takes the signal that arrived, if one did; the caller reports it.
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
