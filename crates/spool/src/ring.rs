//! Chunks that are used again, the oldest first: so the last records of a process are kept.
//!
//! A chunk is in use by one thread. When that is done with it, it seals the chunk: from then on the chunk is anybody's who
//! needs one. A thread that takes it clears it and has it in use. Nobody waits for another thread: a signal handler may do
//! all of this in between, and the child of a fork begins with a ring of its own.

use crate::ChunkHeader;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize};

/// Chunks of a process that may be used again, at most `N`.
pub struct Ring<const N: usize> {
    /// When each was sealed, ticks; 0 while it is in use.
    sealed: [AtomicI64; N],
    chunks: [AtomicPtr<ChunkHeader>; N],
    count: AtomicUsize,
}

/// In [`ChunkHeader::used`]: so many records in so many bytes.
#[inline]
pub const fn position(records: u32, bytes: u32) -> u64 {
    (records as u64) << 32 | bytes as u64
}

impl<const N: usize> Ring<N> {
    /// Without chunks.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Ring<N> {
        Ring {
            sealed: [const { AtomicI64::new(0) }; N],
            chunks: [const { AtomicPtr::new(null_mut()) }; N],
            count: AtomicUsize::new(0),
        }
    }

    /// Makes a fresh chunk, which the caller has in use, one of these. Without a place left it is kept for good.
    pub fn add(&self, chunk: &'static ChunkHeader) {
        let place = self.count.fetch_add(1, Relaxed);
        if let Some(entry) = self.chunks.get(place) {
            entry.store(std::ptr::from_ref(chunk).cast_mut(), Release);
            chunk.place.store(place as u32 + 1, Relaxed);
        }
    }

    /// The caller is done with a chunk, in which it wrote nothing after `now`, ticks. Nothing may refer to it.
    pub fn seal(&self, chunk: &ChunkHeader, now: i64) {
        let place = (chunk.place.load(Relaxed) as usize).wrapping_sub(1);
        if let Some(sealed) = self.sealed.get(place) {
            sealed.store(now.max(1), Release);
        }
    }

    /// The chunk that was sealed first, which the caller has in use from now on, with its records [overwritten
    /// ](ChunkHeader::overwrite); `None` if none is sealed.
    pub fn take(&self) -> Option<&'static ChunkHeader> {
        let count = self.count.load(Relaxed).min(N);
        loop {
            let sealed = self.sealed.get(..count)?.iter().map(|sealed| sealed.load(Relaxed)).enumerate();
            let (place, since) = sealed.filter(|(_, since)| *since != 0).min_by_key(|(_, since)| *since)?;
            // Acquires what its last user wrote.
            if self.sealed.get(place)?.compare_exchange(since, 0, Acquire, Relaxed).is_ok() {
                // SAFETY: `add` got a chunk that stays.
                let chunk = unsafe { self.chunks.get(place)?.load(Acquire).as_ref() }?;
                chunk.overwrite(since);
                return Some(chunk);
            }
        }
    }

    /// In a fork's child: the chunks are the parent's.
    pub fn forget(&self) {
        for sealed in self.sealed.iter().take(self.count.swap(0, Relaxed)) {
            sealed.store(0, Relaxed);
        }
    }
}

impl ChunkHeader {
    /// Overwrites the chunk's records, which were written before `until`, ticks: counts them, and makes it empty. Its user
    /// alone may do this. However the process ends meanwhile, a reader gets the records or their number, and never both.
    pub fn overwrite(&self, until: i64) {
        let records = self.used.load(Relaxed) >> 32;
        let total = self.overwritten.load(Relaxed).wrapping_add(records);
        self.until.store(until, Relaxed);
        self.overwriting.store(total, Relaxed);
        self.used.store(0, Release);
        self.overwritten.store(total, Release);
        self.progress.calls.store(0, Relaxed);
        self.progress.launches.store(0, Relaxed);
    }
}
