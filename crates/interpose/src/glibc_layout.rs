//! Facts that only glibc's own structures and numbers state.

use libc::{pthread_barrier_t, pthread_t};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Whether the calling thread is the one that a barrier's threads wait for. False also where others arrive just now: then
/// it is not known who is the last.
///
/// # Safety
///
/// As `pthread_barrier_wait`.
pub unsafe fn is_last(barrier: *mut pthread_barrier_t) -> bool {
    // `struct pthread_barrier` of glibc 2.25 and later: how many arrived, how many had when this round began, and how
    // many make a round.
    let field = |at: usize| {
        // SAFETY: within the barrier, which the caller keeps alive; the C library uses these words as atomic ones, too.
        unsafe { AtomicU32::from_ptr(barrier.cast::<u32>().add(at)) }.load(Relaxed)
    };
    let (arrived, began, count) = (field(0), field(1), field(2));
    arrived.wrapping_add(1).wrapping_sub(began) == count
}

/// The kernel's id of a thread that has not ended; else 0. Its clock is numbered by it: `MAKE_THREAD_CPUCLOCK` of Linux
/// (include/linux/posix-timers.h).
pub fn tid_of(thread: pthread_t) -> u32 {
    let mut clock = 0;
    // SAFETY: the caller of `pthread_join` promises that the thread can be joined: so it can be asked for its clock.
    let found = unsafe { libc::pthread_getcpuclockid(thread, &mut clock) } == 0;
    u32::try_from(!(clock >> 3)).ok().filter(|_| found).unwrap_or(0)
}
