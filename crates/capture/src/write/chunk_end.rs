//! A chunk of a thread, up to where records are in it.

use spool::{CHUNK_HEADER, ChunkHeader, Clock, Head, position};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// A chunk, and where the next record goes.
#[repr(C)]
pub struct ChunkEnd {
    pub chunk: *mut ChunkHeader,
    /// Bytes of records in the chunk, and how many: a [`position`].
    used: u64,
    /// Bytes of records that fit.
    pub room: usize,
}

impl ChunkEnd {
    /// Without a chunk.
    pub const NONE: ChunkEnd = ChunkEnd { chunk: null_mut(), used: 0, room: 0 };

    /// End of a chunk, whose records stay.
    pub fn of(chunk: &ChunkHeader) -> ChunkEnd {
        let room = (chunk.size.load(Relaxed) as usize).saturating_sub(CHUNK_HEADER);
        ChunkEnd { chunk: std::ptr::from_ref(chunk).cast_mut(), used: chunk.used.load(Relaxed), room }
    }

    /// Its chunk.
    pub fn chunk(&self) -> Option<&'static ChunkHeader> {
        // SAFETY: null or a chunk, which is mapped as long as the process lives.
        unsafe { self.chunk.as_ref() }
    }

    /// Bytes of records in the chunk.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.used as u32 as usize
    }

    /// Whether so many more bytes fit.
    #[inline(always)]
    pub fn fits(&self, size: usize) -> bool {
        self.bytes() + size <= self.room
    }

    /// Where the next record goes.
    #[inline(always)]
    pub fn place(&self) -> *mut u8 {
        self.chunk.cast::<u8>().wrapping_add(CHUNK_HEADER + self.bytes())
    }

    /// The records that were written behind the last one are complete.
    #[inline(always)]
    pub fn publish(&mut self, records: u32, size: usize) {
        self.used += position(records, size as u32);
        // SAFETY: there is a chunk, which is mapped as long as the process lives.
        unsafe { (*self.chunk).used.store(self.used, Release) };
    }

    /// Appends a record of several parts, filled up to whole words. There is room for it.
    pub fn put(&mut self, head: Head, parts: &[&[u8]]) {
        // SAFETY: the record's words from there on lie in the chunk, which only this thread writes.
        unsafe {
            let mut at = self.place();
            at.cast::<Head>().write(head);
            at = at.add(size_of::<Head>());
            for part in parts {
                at.copy_from_nonoverlapping(part.as_ptr(), part.len());
                at = at.add(part.len());
            }
        }
        // Nobody misses what the clocks showed.
        self.publish((head.kind != Clock::KIND).into(), usize::from(head.words) * size_of::<Head>());
    }
}
