//! Clocks of the kernel.

/// `CLOCK_MONOTONIC`, ns.
pub(crate) fn monotonic_ns() -> i64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME`, ns since 1970.
pub(crate) fn unix_ns() -> i64 {
    clock(libc::CLOCK_REALTIME)
}

fn clock(which: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct it is given.
    unsafe { libc::clock_gettime(which, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
