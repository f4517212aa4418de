//! Clocks, ns.

fn read(clock: libc::clockid_t) -> Option<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct that it is given.
    let read = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    read.then_some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// `CLOCK_MONOTONIC`.
pub fn now() -> i64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// `CLOCK_REALTIME`.
pub fn unix() -> i64 {
    read(libc::CLOCK_REALTIME).unwrap_or(0)
}

/// Processor time of this thread.
pub fn own() -> i64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Processor time of all threads that a process has and had; `None` when it is gone. The kernel counts it to this
/// moment, unlike that of a thread of another process.
pub fn of_process(pid: i32) -> Option<i64> {
    // A clock that the kernel's headers call MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED).
    const SCHEDULER: libc::clockid_t = 2;
    read(!pid << 3 | SCHEDULER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_advance() {
        let before = (now(), own());
        let of_this = of_process(std::process::id() as i32).expect("it lives");
        assert!(of_this >= before.1 && now() >= before.0 && unix() > 0);
        // Beyond the most processes of a kernel.
        assert_eq!(of_process(1 << 23), None);
    }
}
