//! The buffers that CUPTI fills with records.
//!
//! CUPTI hands out a buffer once it is full, however long that takes, and all that it has if it is asked to: a program that is killed
//! cannot ask. So a buffer takes as many records as come in a tenth of a second or two. It takes a few hundred in any case, and more while
//! CUPTI has many: it keeps a buffer until the GPU has done what is in it, and a program may be thousands of launches ahead of the GPU.

use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize};

/// Bytes of a buffer, and buffers kept for use again.
const BUFFER: usize = 4 << 20;
const SPARE: usize = 32;

/// Buffers made before the program's first call.
const READY: usize = 4;

/// The fewest records that a buffer takes, as the first one, and the most, which are more than have room: then its bytes decide.
const FEWEST: usize = 256;
const MOST: usize = BUFFER / 128;

/// A buffer that is full this soon makes the next one take four times as many records; one that is not full by then, half as many, ns.
const SOON: i64 = 50_000_000;
const LATE: i64 = 250_000_000;

static BUFFERS: [AtomicPtr<u8>; SPARE] = [const { AtomicPtr::new(null_mut()) }; SPARE];

/// How many records a buffer takes at present.
static RECORDS: AtomicUsize = AtomicUsize::new(FEWEST);
/// When CUPTI asked for a buffer last, by `CLOCK_MONOTONIC`; 0 before.
static ASKED: AtomicI64 = AtomicI64::new(0);
/// How many buffers CUPTI has.
static OUT: AtomicUsize = AtomicUsize::new(0);

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
    let out = OUT.fetch_add(usize::from(!memory.is_null()), Relaxed);
    // SAFETY: CUPTI passes three places to write to.
    unsafe {
        *buffer = memory;
        *size = if memory.is_null() { 0 } else { BUFFER };
        *most = next(interpose::monotonic(), out);
    }
}

/// How many records the buffer takes that CUPTI asks for now, which has `out` others. Threads that ask at once may each use what another one
/// found.
fn next(now: i64, out: usize) -> usize {
    let records = match ASKED.swap(now, Relaxed) {
        0 => FEWEST,
        before => after(RECORDS.load(Relaxed), now - before, out),
    };
    RECORDS.store(records, Relaxed);
    records
}

/// How many records a buffer takes, after one of `records` was asked for `since` ns ago.
fn after(records: usize, since: i64, out: usize) -> usize {
    // More than are kept would be mapped and unmapped each time.
    let records = if since < SOON || out >= SPARE {
        records.saturating_mul(4)
    } else if since < LATE {
        records
    } else {
        records / 2
    };
    records.clamp(FEWEST, MOST)
}

/// Keeps a buffer of [`request`] that CUPTI has given back for good.
pub fn give_back(buffer: *mut u8) {
    if buffer.is_null() {
        return;
    }
    OUT.fetch_sub(1, Relaxed);
    for spare in &BUFFERS {
        if spare.compare_exchange(null_mut(), buffer, AcqRel, Relaxed).is_ok() {
            return;
        }
    }
    // SAFETY: a buffer of `fresh`, which nobody else has.
    unsafe { libc::munmap(buffer.cast(), BUFFER) };
}

/// In a fork's child: those that CUPTI had are lost.
pub fn forget() {
    OUT.store(0, Relaxed);
    ASKED.store(0, Relaxed);
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
        let mut records = FEWEST;
        let mut took = 0;
        for _ in 0..40 {
            took = records as i64 * 1_000_000_000 / rate;
            records = after(records, took, 2);
        }
        (records, took)
    }

    #[test]
    fn a_buffer_is_full_after_tenths_of_a_second_at_most_rates() {
        for rate in [2_000, 5_000, 20_000, 100_000] {
            let (records, took) = steady(rate);
            assert!((SOON..LATE).contains(&took), "{rate}: {records} in {took} ns");
        }
        assert_eq!(steady(10_000_000).0, MOST);
        assert_eq!(steady(100).0, FEWEST);
    }

    #[test]
    fn a_burst_after_silence_soon_has_large_buffers() {
        let mut records = FEWEST;
        let mut buffers = 0;
        while records < MOST {
            records = after(records, records as i64 * 1000, 2);
            buffers += 1;
        }
        assert!(buffers <= 4, "{buffers}");
    }

    #[test]
    fn a_program_far_ahead_of_its_gpu_needs_few_buffers() {
        // A hundred thousand launches, a thousand a second, of which the GPU has done none.
        let (mut launched, mut records, mut out) = (0, FEWEST, 0);
        while launched < 100_000 {
            (launched, out) = (launched + records, out + 1);
            records = after(records, records as i64 * 1_000_000, out);
        }
        assert!(out <= SPARE + 10, "{out}");
    }
}
