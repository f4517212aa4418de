//! Units of time, and the two clocks that there are: the processor's time-stamp counter, and the kernel's.

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub type Ns = i64;

/// Count that [`now`](crate::now) returns, at a rate that is unknown here: the time-stamp counter, or nanoseconds of
/// `CLOCK_MONOTONIC` where there is none to trust.
pub type Ticks = i64;

/// The time in ticks of the processor's counter, where it is trusted ([`CallState::counter`](crate::call_state::CallState::counter)).
#[inline]
pub(crate) fn counter() -> Ticks {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only reads the counter, which every such processor has.
    return unsafe { std::arch::x86_64::_rdtsc() } as Ticks;
    #[cfg(not(target_arch = "x86_64"))]
    monotonic()
}

/// The time in nanoseconds.
pub fn monotonic() -> Ns {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
