//! The buffers that CUPTI fills with records.
//!
//! CUPTI hands out a buffer once it is full, however long that takes, and all that it has if it is asked to: a program that is killed
//! cannot ask. So a buffer takes as many records as come in a tenth of a second or two; with those that wait to be handed out, a killed
//! program loses the operations of its last 0.2 to 0.6 s (H100, at 100 to 22,000 launches a second).

use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize};

/// Bytes of a buffer, and buffers kept for use again.
const BUFFER: usize = 4 << 20;
const SPARE: usize = 32;

/// Buffers made before the program's first call.
const READY: usize = 4;

/// How many records the first buffer takes, the fewest that one takes, and the most: a kernel's record has 200 bytes or more.
const FIRST: usize = 256;
const FEWEST: usize = 16;
const MOST: usize = BUFFER / 128;

/// A buffer that is full this soon makes the next one take four times as many records; one that is not full by then, half as many, ns.
const SOON: i64 = 50_000_000;
const LATE: i64 = 250_000_000;

static BUFFERS: [AtomicPtr<u8>; SPARE] = [const { AtomicPtr::new(null_mut()) }; SPARE];

/// How many records a buffer takes at present.
static RECORDS: AtomicUsize = AtomicUsize::new(FIRST);
/// When CUPTI asked for a buffer last, by `CLOCK_MONOTONIC`; 0 before.
static ASKED: AtomicI64 = AtomicI64::new(0);

/// Makes the first buffers.
pub fn make_ready() {
    for spare in BUFFERS.iter().take(READY) {
        spare.store(fresh(), Release);
    }
}

/// CUPTI asks for a buffer: where it is, its bytes, and how many records it takes at most.
pub unsafe extern "C-unwind" fn request(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    let spare = BUFFERS.iter().map(|spare| spare.swap(null_mut(), AcqRel)).find(|spare| !spare.is_null());
    let memory = spare.unwrap_or_else(fresh);
    // SAFETY: CUPTI passes three places to write to.
    unsafe {
        *buffer = memory;
        *size = if memory.is_null() { 0 } else { BUFFER };
        *most = next(interpose::monotonic());
    }
}

/// How many records the buffer takes that CUPTI asks for now. Threads that ask at once may each use what another one found.
fn next(now: i64) -> usize {
    let records = match ASKED.swap(now, Relaxed) {
        0 => FIRST,
        before => after(RECORDS.load(Relaxed), now - before),
    };
    RECORDS.store(records, Relaxed);
    records
}

/// How many records a buffer takes, after one of `records` was asked for `since` ns ago.
fn after(records: usize, since: i64) -> usize {
    let records = match since {
        ..SOON => records.saturating_mul(4),
        SOON..LATE => records,
        _ => records / 2,
    };
    records.clamp(FEWEST, MOST)
}

/// Keeps a buffer of [`request`] that CUPTI has given back for good.
pub fn give_back(buffer: *mut u8) {
    for spare in &BUFFERS {
        if spare.compare_exchange(null_mut(), buffer, AcqRel, Relaxed).is_ok() {
            return;
        }
    }
    // SAFETY: a buffer of `fresh`, which nobody else has.
    unsafe { libc::munmap(buffer.cast(), BUFFER) };
}

/// Memory for a buffer; null when there is none, and CUPTI drops and counts records. All its pages
/// are there from the start: a launch that has to have one mapped waits for threads that map or unmap
/// memory at the time, which was up to 8.8 ms beside a thread that freed 256 MiB (H200).
fn fresh() -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: asks for new memory.
    let memory = unsafe { libc::mmap(null_mut(), BUFFER, access, flags, -1, 0) };
    if memory == libc::MAP_FAILED { null_mut() } else { memory.cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many records a buffer takes in the end, and how long it is until it is full, ns, at that many records a second.
    fn steady(rate: i64) -> (usize, i64) {
        let mut records = FIRST;
        let mut took = 0;
        for _ in 0..40 {
            took = records as i64 * 1_000_000_000 / rate;
            records = after(records, took);
        }
        (records, took)
    }

    #[test]
    fn a_buffer_is_full_after_tenths_of_a_second_at_any_rate() {
        for rate in [100, 1_000, 5_000, 20_000, 100_000] {
            let (records, took) = steady(rate);
            assert!((SOON..LATE).contains(&took), "{rate}: {records} in {took} ns");
        }
        assert_eq!(steady(10_000_000).0, MOST);
        assert_eq!(steady(1).0, FEWEST);
    }

    #[test]
    fn a_burst_after_silence_soon_has_large_buffers() {
        let mut records = FEWEST;
        let mut buffers = 0;
        while records < MOST {
            records = after(records, records as i64 * 1000);
            buffers += 1;
        }
        assert!(buffers <= 6, "{buffers}");
    }
}
