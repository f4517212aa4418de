//! Where records go that others refer to, in a recording that keeps the last: chunks of their own, which are never used
//! again. Threads that come later go on with those of threads that ended.

use crate::sys::shielded::shielded;
use crate::write::chunk_end::ChunkEnd;
use crate::write::process::{self, ChunkUse};
use spool::{ALIGN, CHUNK_HEADER, ChunkHeader, Clock, Head};
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Most chunks that wait for another thread; others are not gone on with.
const MOST: usize = 256;

/// Chunks of threads that ended.
static LEFT: [AtomicPtr<ChunkHeader>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// Appends a record of several parts, filled up to whole words, as a thread's; false without room: it is counted.
pub fn append(end: &mut ChunkEnd, tid: u32, head: Head, parts: &[&[u8]]) -> bool {
    let size = usize::from(head.words) * size_of::<Head>();
    if !end.fits(size) && !make_room(end, tid, size) {
        lose(end);
        return false;
    }
    end.put(head, parts);
    true
}

fn lose(end: &ChunkEnd) {
    if let Some(dropped) = end.chunk().map(|chunk| &chunk.dropped) {
        dropped.store(dropped.load(Relaxed) + 1, Relaxed);
    } else if let Some(header) = process::header() {
        header.dropped.fetch_add(1, Relaxed);
    }
}

/// Goes on with a chunk that has so many bytes of room.
#[cold]
#[inline(never)]
fn make_room(end: &mut ChunkEnd, tid: u32, size: usize) -> bool {
    if end.chunk().is_none()
        && let Some(left) = LEFT.iter().map(|left| left.swap(null_mut(), AcqRel)).find(|left| !left.is_null())
    {
        // SAFETY: a chunk, which is mapped as long as the process lives, and nobody else's since it was taken out.
        *end = ChunkEnd::of(unsafe { &*left });
        if end.fits(size) {
            return true;
        }
    }
    let least = size + size_of::<Head>() + size_of::<Clock>() + CHUNK_HEADER;
    let chunk =
        shielded(|| process::chunk((least as u64).next_multiple_of(ALIGN), tid, ChunkUse::Persistent));
    // SAFETY: null or a chunk, which is mapped as long as the process lives.
    let Some(chunk) = (unsafe { chunk.as_ref() }) else { return false };
    *end = ChunkEnd::of(chunk);
    // So a reader knows what the clocks showed also where all else is overwritten.
    let now = interpose::moment();
    let head = Head { kind: Clock::KIND, words: (1 + size_of::<Clock>() / 8) as u16, tag: 0 };
    end.put(head, &[Clock { ticks: now.ticks, ns: now.ns }.bytes()]);
    true
}

/// A thread ended.
pub fn give_up(end: ChunkEnd) {
    let Some(chunk) = end.chunk().map(|chunk| std::ptr::from_ref(chunk).cast_mut()) else { return };
    let is_kept =
        |left: &AtomicPtr<ChunkHeader>| left.compare_exchange(null_mut(), chunk, AcqRel, Acquire).is_ok();
    _ = LEFT.iter().any(is_kept);
}

/// In a fork's child: the chunks are the parent's.
pub fn forget() {
    LEFT.iter().for_each(|left| left.store(null_mut(), Relaxed));
}
