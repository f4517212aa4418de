//! The end of a thread, with what the kernel counted of it until then: nobody looks at it any more.

use crate::sys::seccomp;
use crate::sys::shielded::shielded;
use spool::ThreadEnd;

/// The end of the calling thread; `None` where that takes system calls that the program forbade itself.
#[cold]
#[inline(never)]
pub fn record(tid: u32) -> Option<ThreadEnd> {
    seccomp::allows_calls().then(|| {
        shielded(|| ThreadEnd {
            at: interpose::monotonic(),
            running: running().unwrap_or(-1),
            runnable: runnable().unwrap_or(-1),
            tid: tid.into(),
        })
    })
}

/// The calling thread's time on a processor, ns. Its `schedstat` lacks what it ran since the last tick.
fn running() -> Option<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct it is given.
    let is_known = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } == 0;
    is_known.then_some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// The calling thread's time ready without a processor, ns: the second number of its `schedstat`.
fn runnable() -> Option<i64> {
    let mut room = [0; 64];
    // SAFETY: a path that ends in a zero byte.
    let file =
        unsafe { libc::open(c"/proc/thread-self/schedstat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: the descriptor is this function's own; the kernel writes into the room at most.
    let length = unsafe {
        let length = libc::read(file, room.as_mut_ptr().cast(), room.len());
        libc::close(file);
        length
    };
    second_number(room.get(..usize::try_from(length).ok()?)?)
}

fn second_number(text: &[u8]) -> Option<i64> {
    let word = text.split(|byte| byte.is_ascii_whitespace()).nth(1)?;
    str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_kernel() {
        assert_eq!(second_number(b"123 456 7\n"), Some(456));
        assert_eq!(second_number(b"123"), None);
        assert_eq!(second_number(b"0 x 1"), None);
    }

    #[test]
    fn the_kernel_counts_a_thread_that_runs() {
        let before = running();
        assert!(before.is_some());
        let mut sum = 0_u64;
        while running() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(running() > before, "{sum}");
        assert!(runnable().is_none_or(|time| time >= 0));
    }
}
