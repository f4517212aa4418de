//! The clock that calls and waits are timed with: the processor's time-stamp counter where the kernel
//! trusts it, since reading it takes 16 ns instead of 27 (host of an H200). What it counts becomes
//! time only when the recording is read.

use crate::FIRST;
use std::sync::atomic::Ordering::Relaxed;

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub type Ns = i64;

/// Count that [`now`] returns, at a rate that is unknown here: the time-stamp counter, or nanoseconds of
/// `CLOCK_MONOTONIC` where there is none to trust.
pub type Ticks = i64;

/// Looks at both clocks, of which the best counts.
const TRIES: u32 = 5;

/// Both clocks at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Reading of [`now`].
    pub ticks: Ticks,
    /// Reading of [`monotonic`].
    pub ns: Ns,
}

/// The time in ticks.
#[inline]
pub fn now() -> Ticks {
    if FIRST.counter.load(Relaxed) { counter() } else { without_counter() }
}

/// The time in ticks of the processor's counter, where it is trusted ([`crate::First::counter`]).
#[inline]
pub(crate) fn counter() -> Ticks {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only reads the counter, which every such processor has.
    return unsafe { std::arch::x86_64::_rdtsc() } as Ticks;
    #[cfg(not(target_arch = "x86_64"))]
    monotonic()
}

#[cold]
#[inline(never)]
fn without_counter() -> Ticks {
    monotonic()
}

/// The time in nanoseconds.
pub fn monotonic() -> Ns {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Looks at both clocks.
pub fn moment() -> Moment {
    if !FIRST.counter.load(Relaxed) {
        let ns = monotonic();
        return Moment { ticks: ns, ns };
    }
    // A thread may be interrupted between its looks: the quickest of a few tries was not.
    let mut best = look();
    for _ in 1..TRIES {
        let other = look();
        best = if other.took < best.took { other } else { best };
    }
    best.moment
}

/// One reading of the counter between two readings of the time.
struct Look {
    took: Ns,
    moment: Moment,
}

fn look() -> Look {
    let (before, ticks, after) = (monotonic(), now(), monotonic());
    let took = after - before;
    Look { took, moment: Moment { ticks, ns: before + took / 2 } }
}

/// Decides which clock it is, once: a counter that differs between processors or stops when they
/// sleep is none that the kernel takes its own time from.
pub(crate) fn choose() {
    let trusted = cfg!(target_arch = "x86_64") && source(&mut [0; 16]) == b"tsc\n";
    FIRST.counter.store(trusted, Relaxed);
}

/// Name of the clock source that the kernel takes its time from. errno stays as it is.
fn source(room: &mut [u8; 16]) -> &[u8] {
    const PATH: &std::ffi::CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
    // SAFETY: plain system calls; `read` writes at most `room.len()` bytes and says how many; errno is
    // the thread's own.
    let length = unsafe {
        let errno = *libc::__errno_location();
        let file = libc::open(PATH.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = libc::read(file, room.as_mut_ptr().cast(), room.len());
        if file >= 0 {
            libc::close(file);
        }
        *libc::__errno_location() = errno;
        length
    };
    usize::try_from(length).ok().and_then(|length| room.get(..length)).unwrap_or_default()
}
