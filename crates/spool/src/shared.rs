//! What all processes of a program share while they record.

use std::mem::offset_of;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// Name of the file in the spool's directory that holds [`Shared`].
pub const SHARED: &str = "budget";

/// Most times that recording is switched on or off in a run.
pub const MOST_REQUESTS: usize = 256;

/// The contents of that file, which each process maps. Zeros are valid.
#[repr(C)]
pub struct Shared {
    /// Bytes that all processes have taken.
    pub taken: AtomicU64,
    /// Apart from what processes write: it is read often.
    pub control: Control,
}

/// Whether recording is switched on, as its user asked for.
#[repr(C, align(128))]
pub struct Control {
    /// How often it was switched: it is on if this is even.
    pub count: AtomicU32,
    /// Zero.
    pub reserved: AtomicU32,
    /// When, ns: written before it is counted.
    pub at: [AtomicI64; MOST_REQUESTS],
}

const _: () = assert!(size_of::<Shared>() <= 4096);

impl Control {
    /// Whether recording is switched off.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.count.load(std::sync::atomic::Ordering::Relaxed) % 2 == 1
    }

    /// Switches recording on or off at a time, ns; false when it was switched [`MOST_REQUESTS`] times. One process alone
    /// may do this.
    pub fn switch(&self, at: i64) -> bool {
        use std::sync::atomic::Ordering::{Relaxed, Release};
        let count = self.count.load(Relaxed);
        let Some(place) = self.at.get(count as usize) else { return false };
        place.store(at, Relaxed);
        self.count.store(count + 1, Release);
        true
    }
}

/// When recording was switched off, on, off and so on, ns, by the bytes of the file.
pub fn requests(bytes: &[u8]) -> Vec<i64> {
    const CONTROL: usize = offset_of!(Shared, control);
    let word = |at: usize| bytes.get(at..at + 8).and_then(|word| word.try_into().ok());
    let count = word(CONTROL + offset_of!(Control, count))
        .map_or(0, |word: [u8; 8]| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]) as usize);
    let at = |number: usize| word(CONTROL + offset_of!(Control, at) + number * 8).map(i64::from_ne_bytes);
    (0..count.min(MOST_REQUESTS)).map_while(at).collect()
}
