//! Host memory: had from the system, filled, copied and checked.

use std::ffi::c_void;
use std::io;
use workload::Value;

/// Memory from the system, whole pages of zeros; with `touch` they are there at once, not when first used.
pub fn map(bytes: u64, touch: bool) -> io::Result<u64> {
    let populate = if touch { libc::MAP_POPULATE } else { 0 };
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | populate);
    // SAFETY: a new mapping, at an address of the system's choice.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes.max(1) as usize, access, kind, -1, 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as u64) }
}

/// Gives it back.
///
/// # Safety
///
/// It is what [`map`] gave for so many bytes, and nobody uses it any more.
pub unsafe fn unmap(address: u64, bytes: u64) {
    // SAFETY: as the caller says.
    unsafe { libc::munmap(address as *mut c_void, bytes.max(1) as usize) };
}

/// The largest difference between 32-bit elements and what each should be; a NaN is infinitely wrong.
pub fn largest_difference(words: &[u32], value: Value) -> f64 {
    let expected = match value {
        Value::Int(value) => value as u32,
        Value::Float(value) => value.to_bits(),
    };
    // Mostly all are right, which is seen at the speed of memory.
    if words.iter().fold(0, |wrong, word| wrong | (word ^ expected)) == 0 {
        return 0.0;
    }
    let difference = |word: &u32| match value {
        Value::Int(value) => f64::from((i64::from(*word as i32) - i64::from(value)).unsigned_abs() as u32),
        Value::Float(value) => {
            let difference = (f64::from(f32::from_bits(*word)) - f64::from(value)).abs();
            if difference.is_nan() { f64::INFINITY } else { difference }
        }
    };
    words.iter().map(difference).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_the_largest() {
        assert_eq!(largest_difference(&[7, 7], Value::Int(7)), 0.0);
        assert_eq!(largest_difference(&[i32::MIN as u32, 7], Value::Int(i32::MAX)), f64::from(u32::MAX));
        let floats = [1.0f32, 1.5, 0.75].map(f32::to_bits);
        assert_eq!(largest_difference(&floats, Value::Float(1.0)), 0.5);
        assert_eq!(largest_difference(&[f32::NAN.to_bits()], Value::Float(0.0)), f64::INFINITY);
        assert_eq!(largest_difference(&[0x8000_0000], Value::Float(0.0)), 0.0);
    }
}
