//! The memory that all processes of a run share: barriers, whether to stop, and the progress of each thread.
//!
//! It is an unnamed file that the processes inherit, and ends with the last of them.

use crate::{Error, clock};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// Time between two polls while other threads prepare.
pub const NAP: std::time::Duration = std::time::Duration::from_micros(100);

/// Number of polls between two checks whether to stop.
const LOOKS: u32 = 1 << 10;

/// The fields that exist once, each on its own cache lines.
#[repr(C, align(128))]
struct Header {
    abort: Apart<AtomicU32>,
    /// The threads that are ready, and those of them that are awake again.
    prepared: Apart<AtomicU32>,
    ready: Apart<AtomicU32>,
    /// When the last one was ready; 0 before.
    released: Apart<AtomicI64>,
    /// The threads that have finished their bodies, of those that end by themselves.
    finished: Apart<AtomicU32>,
}

#[repr(C, align(128))]
struct Apart<T>(T);

/// A barrier.
#[repr(C, align(128))]
struct Barrier {
    here: AtomicU32,
    /// How often all threads have met.
    met: AtomicU32,
}

/// The progress of a thread.
#[repr(C, align(128))]
pub struct Progress {
    /// When its body began; 0 before.
    pub began: AtomicI64,
    /// When it ended; 0 before.
    pub ended: AtomicI64,
    /// Completed bodies.
    pub rounds: AtomicU64,
}

/// The run is to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aborted;

/// The shared memory of a run.
pub struct Segment {
    file: OwnedFd,
    base: *mut u8,
    barriers: usize,
    threads: usize,
}

// SAFETY: everything in it is atomic.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// A new segment for so many barriers and threads.
    pub fn new(barriers: usize, threads: usize) -> Result<Segment, Error> {
        let failed = |error: io::Error| Error::system("the memory that processes share", &error);
        // SAFETY: the name ends in zero.
        let file = unsafe { libc::memfd_create(c"holdup-run".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        // SAFETY: just made, and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        // SAFETY: takes no pointer.
        if unsafe { libc::ftruncate(file.as_raw_fd(), size(barriers, threads) as libc::off_t) } != 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        Segment::map(file, barriers, threads).map_err(failed)
    }

    /// The segment that the parent made.
    pub fn inherited(file: OwnedFd, barriers: usize, threads: usize) -> Result<Segment, Error> {
        Segment::map(file, barriers, threads)
            .map_err(|error| Error::system("the memory that processes share", &error))
    }

    fn map(file: OwnedFd, barriers: usize, threads: usize) -> io::Result<Segment> {
        let (access, size) = (libc::PROT_READ | libc::PROT_WRITE, size(barriers, threads));
        // SAFETY: a new mapping, at an address of the system's choice.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Segment { file, base: base.cast(), barriers, threads })
    }

    /// The file, to be inherited.
    pub fn file(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping starts with one, on a page's start; zeros are a valid one, and all of it is atomic.
        unsafe { &*self.base.cast() }
    }

    fn barrier(&self, row: usize) -> &Barrier {
        assert!(row < self.barriers, "a barrier of the workload");
        // SAFETY: the barriers follow the header, whose size is a multiple of their alignment.
        unsafe { &*self.base.add(size_of::<Header>()).cast::<Barrier>().add(row) }
    }

    /// The progress of a thread, by its number across all processes.
    pub fn progress(&self, thread: usize) -> &Progress {
        assert!(thread < self.threads, "a thread of the workload");
        // SAFETY: the threads follow the barriers.
        unsafe { &*self.base.add(size(self.barriers, 0)).cast::<Progress>().add(thread) }
    }

    /// Asks every thread to stop at its next check.
    pub fn abort(&self) {
        self.header().abort.0.store(1, Relaxed);
    }

    /// Whether to stop.
    #[inline]
    pub fn is_aborted(&self) -> bool {
        self.header().abort.0.load(Relaxed) != 0
    }

    /// Waits at the start, and returns when all threads were ready. It sleeps while others prepare, so that they have the
    /// processors; when all are ready, it wakes up and polls.
    pub fn start(&self, crowded: bool) -> Result<i64, Aborted> {
        let (header, all) = (self.header(), self.threads as u32);
        header.prepared.0.fetch_add(1, AcqRel);
        while header.prepared.0.load(Acquire) < all {
            self.go_on()?;
            std::thread::sleep(NAP);
        }
        if header.ready.0.fetch_add(1, AcqRel) + 1 == all {
            header.released.0.store(clock::now(), Release);
        }
        let released = || header.released.0.load(Acquire) != 0;
        while !look(crowded, released) {
            self.go_on()?;
        }
        Ok(header.released.0.load(Acquire))
    }

    /// Returns an error if the run is to stop.
    pub fn go_on(&self) -> Result<(), Aborted> {
        if self.is_aborted() { Err(Aborted) } else { Ok(()) }
    }

    /// A thread that ends by itself has finished its bodies.
    pub fn finish(&self) {
        self.header().finished.0.fetch_add(1, Release);
    }

    /// How many of those threads have finished.
    #[inline]
    pub fn finished(&self) -> u32 {
        self.header().finished.0.load(Acquire)
    }

    /// Waits at a barrier of `parties` threads.
    pub fn meet(&self, row: usize, parties: u32, crowded: bool) -> Result<(), Aborted> {
        let barrier = self.barrier(row);
        let met = barrier.met.load(Acquire);
        if barrier.here.fetch_add(1, AcqRel) + 1 == parties {
            barrier.here.store(0, Relaxed);
            barrier.met.fetch_add(1, Release);
            return Ok(());
        }
        let all_met = || barrier.met.load(Acquire) != met;
        while !look(crowded, all_met) {
            self.go_on()?;
        }
        Ok(())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: what was mapped, and no borrow outlives this.
        unsafe { libc::munmap(self.base.cast(), size(self.barriers, self.threads)) };
    }
}

fn size(barriers: usize, threads: usize) -> usize {
    size_of::<Header>() + barriers * size_of::<Barrier>() + threads * size_of::<Progress>()
}

/// Polls a condition for a while. If there are more threads than processors, it yields the processor between two polls.
fn look(crowded: bool, is_so: impl Fn() -> bool) -> bool {
    if crowded {
        std::thread::yield_now();
        return is_so();
    }
    (0..LOOKS).any(|_| {
        let so = is_so();
        if !so {
            std::hint::spin_loop();
        }
        so
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_meet_repeatedly() {
        let segment = Segment::new(2, 3).expect("there is memory");
        let sum = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    segment.start(true).expect("all come");
                    for round in 0..1000 {
                        sum.fetch_add(1, Relaxed);
                        segment.meet(1, 3, true).expect("all come");
                        assert_eq!(sum.load(Relaxed), (round + 1) * 3);
                        segment.meet(0, 3, true).expect("all come");
                    }
                });
            }
        });
        assert_eq!(sum.load(Relaxed), 3000);
    }

    #[test]
    fn an_abort_ends_every_wait() {
        let segment = Segment::new(1, 2).expect("there is memory");
        segment.abort();
        assert_eq!(segment.start(false), Err(Aborted));
        assert_eq!(segment.meet(0, 2, false), Err(Aborted));
    }
}
