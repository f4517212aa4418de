//! Host memory: mapped, filled, checked and unmapped.

use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use workload::Value;

/// Maps whole pages of zeros; with `touch` the system provides them now and not at their first use.
pub fn map(bytes: u64, touch: bool) -> io::Result<u64> {
    let populate = if touch { libc::MAP_POPULATE } else { 0 };
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | populate);
    // SAFETY: a new mapping, at an address of the system's choice.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes.max(1) as usize, access, kind, -1, 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as u64) }
}

/// Unmaps them.
///
/// # Safety
///
/// [`map`] returned the address for so many bytes, and nothing uses them any more.
pub unsafe fn unmap(address: u64, bytes: u64) {
    // SAFETY: as the caller promises.
    unsafe { libc::munmap(address as *mut c_void, bytes.max(1) as usize) };
}

/// The 32-bit elements of a buffer. They are atomic because threads of a workload may fill and check one buffer at the same
/// time, and the result of such a race is the workload's business.
///
/// # Safety
///
/// `count` elements are mapped at `address`, a multiple of 4, for as long as the slice is used.
pub unsafe fn words<'a>(address: u64, count: usize) -> &'a [AtomicU32] {
    // SAFETY: as the caller promises; an `AtomicU32` has the size and the alignment of its number.
    unsafe { std::slice::from_raw_parts(address as *const AtomicU32, count) }
}

/// Sets every element.
pub fn fill(words: &[AtomicU32], word: u32) {
    words.iter().for_each(|element| element.store(word, Relaxed));
}

/// The largest difference between 32-bit elements and their expected value; that of a NaN is infinite.
pub fn largest_difference(words: &[AtomicU32], value: Value) -> f64 {
    let expected = match value {
        Value::Int(value) => value as u32,
        Value::Float(value) => value.to_bits(),
    };
    let words = || words.iter().map(|word| word.load(Relaxed));
    // Usually all are right: one pass without branches shows it.
    if words().fold(0, |wrong, word| wrong | (word ^ expected)) == 0 {
        return 0.0;
    }
    let difference = |word: u32| match value {
        Value::Int(value) => f64::from((i64::from(word as i32) - i64::from(value)).unsigned_abs() as u32),
        Value::Float(value) => {
            let difference = (f64::from(f32::from_bits(word)) - f64::from(value)).abs();
            if difference.is_nan() { f64::INFINITY } else { difference }
        }
    };
    words().map(difference).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference<const N: usize>(words: [u32; N], value: Value) -> f64 {
        largest_difference(&words.map(AtomicU32::new), value)
    }

    #[test]
    fn the_largest_difference_of_all_elements_counts() {
        assert_eq!(difference([7, 7], Value::Int(7)), 0.0);
        assert_eq!(difference([i32::MIN as u32, 7], Value::Int(i32::MAX)), f64::from(u32::MAX));
        let floats = [1.0f32, 1.5, 0.75].map(f32::to_bits);
        assert_eq!(difference(floats, Value::Float(1.0)), 0.5);
        assert_eq!(difference([f32::NAN.to_bits()], Value::Float(0.0)), f64::INFINITY);
        assert_eq!(difference([0x8000_0000], Value::Float(0.0)), 0.0);
    }

    #[test]
    fn two_threads_can_fill_one_buffer() {
        let address = map(4096, true).expect("memory");
        let fill_with = |word| {
            move || {
                // SAFETY: mapped above, and unmapped when both threads have ended.
                fill(unsafe { words(address, 1024) }, word);
            }
        };
        std::thread::scope(|threads| {
            threads.spawn(fill_with(1));
            threads.spawn(fill_with(2));
        });
        // SAFETY: as above.
        assert!(largest_difference(unsafe { words(address, 1024) }, Value::Int(1)) <= 1.0);
        // SAFETY: nothing uses it any more.
        unsafe { unmap(address, 4096) };
    }
}
