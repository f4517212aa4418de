//! Ctrl-C in a long command: what is done by then is still printed.

use std::sync::atomic::AtomicBool;

/// Set by a signal to end.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on the first signal to end sets [`INTERRUPTED`], and a second one of its kind ends this process. A terminal that
/// is closed sends one, too.
#[cfg(unix)]
pub fn listen() {
    extern "C" fn note(_: libc::c_int) {
        INTERRUPTED.store(true, std::sync::atomic::Ordering::Relaxed);
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler stores a flag and does nothing else; the structs are valid.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as *const () as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &action, &mut before);
            // Under nohup and in the background of a script, interrupts are ignored, and stay so.
            if before.sa_sigaction == libc::SIG_IGN {
                libc::sigaction(signal, &before, std::ptr::null_mut());
            }
        }
    }
}

/// Elsewhere a signal ends this process.
#[cfg(not(unix))]
pub fn listen() {}
