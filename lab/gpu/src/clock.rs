//! The clock of a run: `CLOCK_MONOTONIC`, which all processes of the machine share, in ns.

use std::time::Duration;

/// The last part of a wait, which polls, because sleeping overshoots by about 60 µs, ns.
const CLOSE: i64 = 200_000;

/// Now.
#[inline]
pub fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time; does not fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// This clock's 0 as nanoseconds since 1970.
pub fn epoch_unix() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as i64 - now()
}

/// Waits for a moment, mostly asleep, while `go_on` returns true.
pub fn wait_until(moment: i64, go_on: impl Fn() -> bool) {
    /// The longest sleep, so that a wait of minutes can end early.
    const NAP: i64 = 20_000_000;
    while go_on() {
        match moment - now() {
            ..=0 => return,
            left @ ..=CLOSE => spin(now() + left),
            left => std::thread::sleep(Duration::from_nanos((left - CLOSE / 2).min(NAP) as u64)),
        }
    }
}

/// Keeps the processor busy until a moment.
pub fn spin(until: i64) {
    while now() < until {
        std::hint::spin_loop();
    }
}
