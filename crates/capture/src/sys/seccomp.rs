//! Programs that forbid themselves system calls (seccomp): a call that is not on their list may end them. From the moment that
//! a program asks for that, this library makes none within its calls: what is recorded fits into what is mapped already.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The program asked for it. Its children have the same list.
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Whether this library may make system calls.
#[inline]
pub fn allows_calls() -> bool {
    !FORBIDDEN.load(Relaxed)
}

/// The program forbids itself system calls.
pub fn forbid() {
    FORBIDDEN.store(true, Relaxed);
    interpose::forbid_system_calls();
}
