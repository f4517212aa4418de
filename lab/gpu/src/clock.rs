//! The one clock: `CLOCK_MONOTONIC`, which all processes of the machine share, in ns.

use std::time::Duration;

/// Close to a moment it is awaited by looking, for sleeping overshoots by some 60 µs.
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

/// Waits for a moment, asleep for the most part, as long as `go_on` says so.
pub fn wait_until(moment: i64, go_on: impl Fn() -> bool) {
    /// So that a wait of minutes can be ended.
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
