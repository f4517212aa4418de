//! The clock that calls and waits are timed with: the processor's time-stamp counter where the kernel
//! trusts it, since reading it takes 16 ns instead of 27 (host of an H200). What it counts becomes
//! time only when the recording is read.

use crate::call_state::CALL_STATE;
use crate::ticks::{Ns, Ticks, counter, monotonic};
use std::sync::atomic::Ordering::Relaxed;

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
    if CALL_STATE.counter.load(Relaxed) { counter() } else { without_counter() }
}

#[cold]
#[inline(never)]
fn without_counter() -> Ticks {
    monotonic()
}

/// Looks at both clocks.
pub fn moment() -> Moment {
    if !CALL_STATE.counter.load(Relaxed) {
        let ns = monotonic();
        return Moment { ticks: ns, ns };
    }
    // A thread may be interrupted between its looks: the quickest of a few tries was not.
    let mut best = read_both();
    for _ in 1..TRIES {
        let other = read_both();
        best = if other.took < best.took { other } else { best };
    }
    best.moment
}

/// One reading of the counter between two readings of the time.
struct Reading {
    took: Ns,
    moment: Moment,
}

fn read_both() -> Reading {
    let (before, ticks, after) = (monotonic(), now(), monotonic());
    let took = after - before;
    Reading { took, moment: Moment { ticks, ns: before + took / 2 } }
}

/// Decides which clock it is, once: a counter that differs between processors or stops when they
/// sleep is none that the kernel takes its own time from.
pub(crate) fn choose() {
    let trusted = cfg!(target_arch = "x86_64") && source(&mut [0; 16]) == b"tsc\n";
    CALL_STATE.counter.store(trusted, Relaxed);
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
