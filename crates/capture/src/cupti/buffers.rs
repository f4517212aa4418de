//! The buffers that CUPTI fills with records.
//!
//! CUPTI hands out a buffer once it is full, however long that takes, and all that it has if it is asked to: a program that is killed
//! cannot ask. So buffers are as large as they are filled in a tenth of a second or two. From CUDA 12.3 on each thread that issues work has
//! a buffer of its own.

use crate::sys::seccomp;
use crate::write::pace::{self, Pace};
use crate::write::thread_writer;
use interpose::Ns;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicUsize};

/// Buffers of one size.
struct Size {
    /// How many records one takes.
    records: usize,
    /// How many are made before the program's first call.
    ready: usize,
    /// How many are kept for use again, at most.
    kept: usize,
    spare: [AtomicPtr<u8>; 128],
}

static SIZES: [Size; pace::SIZES] =
    [Size::new(256, 4, 128), Size::new(1024, 4, 128), Size::new(4096, 2, 64), Size::new(16384, 2, 32)];
/// Bytes for a record: a kernel's has 248 (CUDA 13.4).
const RECORD: usize = 256;

impl Size {
    const fn new(records: usize, ready: usize, kept: usize) -> Size {
        Size { records, ready, kept, spare: [const { AtomicPtr::new(null_mut()) }; 128] }
    }

    fn bytes(&self) -> usize {
        self.records * RECORD
    }

    /// A buffer, null if there is no memory for one.
    fn take(&self) -> *mut u8 {
        let mut spare = self.spare.iter().map(|spare| spare.swap(null_mut(), AcqRel));
        spare.find(|spare| !spare.is_null()).unwrap_or_else(|| fresh(self.bytes()))
    }

    /// Keeps a buffer; whether there is a place for it.
    fn keep(&self, buffer: *mut u8) -> bool {
        let mut spare = self.spare.iter().take(self.kept);
        spare.any(|spare| spare.compare_exchange(null_mut(), buffer, AcqRel, Relaxed).is_ok())
    }
}

/// Whether each thread has a buffer of its own.
static PER_THREAD: AtomicBool = AtomicBool::new(false);
/// The [`Pace`] of the buffer that all threads have otherwise. Threads that ask at once may each use what another one found.
static SHARED_SIZE: AtomicUsize = AtomicUsize::new(0);
static SHARED_ASKED: AtomicI64 = AtomicI64::new(0);

/// CUPTI will ask for buffers, for each thread's own if it is `per_thread`.
pub fn begin(per_thread: bool) {
    PER_THREAD.store(per_thread, Relaxed);
}

/// Makes the first buffers.
pub fn make_ready() {
    for size in &SIZES {
        for spare in size.spare.iter().take(size.ready) {
            spare.store(fresh(size.bytes()), Release);
        }
    }
}

/// CUPTI asks for a buffer: where it is, its bytes, and how many records it takes at most.
pub unsafe extern "C-unwind" fn request(buffer: *mut *mut u8, room: *mut usize, most: *mut usize) {
    let size = SIZES.get(next_size(interpose::monotonic())).unwrap_or(&SIZES[0]);
    let memory = size.take();
    // SAFETY: CUPTI passes three places to write to.
    unsafe {
        *buffer = memory;
        *room = if memory.is_null() { 0 } else { size.bytes() };
        *most = size.records;
    }
}

/// The size of the buffer that CUPTI asks for now.
fn next_size(now: Ns) -> usize {
    if PER_THREAD.load(Relaxed) {
        // A thread that cannot write is in a signal handler, or one too many.
        return thread_writer::here(|writer| writer.rest().pace.next(now)).unwrap_or_default();
    }
    let mut pace = Pace { size: SHARED_SIZE.load(Relaxed), asked: SHARED_ASKED.load(Relaxed) };
    let size = pace.next(now);
    SHARED_SIZE.store(size, Relaxed);
    SHARED_ASKED.store(now, Relaxed);
    size
}

/// Keeps a buffer that CUPTI has given back, with the bytes that were stated there.
///
/// # Safety
///
/// CUPTI got it from [`request`] and gives it back for good.
pub unsafe fn give_back(buffer: *mut u8, room: usize) {
    // It is left alone if CUPTI states others: it is not known what to unmap.
    let Some(size) = SIZES.iter().find(|size| size.bytes() == room) else { return };
    if buffer.is_null() || size.keep(buffer) || !seccomp::allows_calls() {
        return;
    }
    // SAFETY: the caller's promise: a buffer of `fresh`, of so many bytes, which nobody else has.
    unsafe { libc::munmap(buffer.cast(), size.bytes()) };
}

/// Memory for a buffer; null when there is none, and CUPTI drops and counts records. All its pages
/// are there from the start: a launch that has to have one mapped waits for threads that map or unmap
/// memory at the time, which was up to 8.8 ms beside a thread that freed 256 MiB (H200).
fn fresh(bytes: usize) -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    if !seccomp::allows_calls() {
        return null_mut();
    }
    // SAFETY: asks for new memory.
    let memory = unsafe { libc::mmap(null_mut(), bytes, access, flags, -1, 0) };
    if memory == libc::MAP_FAILED { null_mut() } else { memory.cast() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::pace::{LATE, SOON};

    /// The size of the buffers in the end, and how long one of them is filled, ns, at that many records a second.
    fn steady(rate: i64) -> (usize, Ns) {
        let (mut pace, mut now, mut took) = (Pace::NEW, 1, 0);
        for _ in 0..40 {
            let size = pace.next(now);
            took = SIZES[size].records as Ns * 1_000_000_000 / rate;
            now += took;
        }
        (pace.size, took)
    }

    #[test]
    fn a_buffer_is_full_after_tenths_of_a_second() {
        for rate in [2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 300_000] {
            let (size, took) = steady(rate);
            assert!((SOON..LATE).contains(&took), "{rate}: size {size} in {took} ns");
        }
        assert_eq!((steady(10_000_000).0, steady(100).0), (SIZES.len() - 1, 0));
    }

    #[test]
    fn a_burst_after_silence_has_the_largest_buffers_soon() {
        let mut pace = Pace { size: 0, asked: 1 };
        let second = 1_000_000_000;
        let sizes = [0, 1, 2, 3, 4].map(|ms| pace.next(60 * second + ms * second / 1000));
        assert_eq!(sizes, [0, 1, 2, 3, 3]);
    }
}
