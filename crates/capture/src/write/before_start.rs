//! Texts that the program hands over before recording starts: kept until there is a file to write them to.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize};

/// Most texts, and most bytes of all; what is beyond is lost.
const MOST: usize = 1024;
const MOST_BYTES: usize = 64 << 10;

struct KeptText {
    start: AtomicU32,
    /// Its length plus one; 0 while it is being written.
    length: AtomicU32,
    /// The thread that it is a name of; 0 for none.
    tid: AtomicU32,
}

static TEXTS: [KeptText; MOST] =
    [const { KeptText { start: AtomicU32::new(0), length: AtomicU32::new(0), tid: AtomicU32::new(0) } };
        MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Bytes(UnsafeCell<[u8; MOST_BYTES]>);
// SAFETY: each byte is written once, by the thread that took it by `USED`, before its text's length is
// stored; it is read only after that was seen.
unsafe impl Sync for Bytes {}
static BYTES: Bytes = Bytes(UnsafeCell::new([0; MOST_BYTES]));
static USED: AtomicUsize = AtomicUsize::new(0);

/// Keeps a text, as the name of a thread if its id is given; its number, `None` without room.
pub fn keep(text: &[u8], tid: u32) -> Option<u32> {
    let text = &text[..text.len().min(spool::MOST_TEXT)];
    let start =
        USED.fetch_update(Relaxed, Relaxed, |used| Some(used + text.len()).filter(|end| *end <= MOST_BYTES));
    let (start, number) = (start.ok()?, COUNT.fetch_add(1, Relaxed));
    let kept = TEXTS.get(number)?;
    // SAFETY: within the bytes, and nobody else's.
    unsafe { BYTES.0.get().cast::<u8>().add(start).copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    kept.start.store(start as u32, Relaxed);
    kept.tid.store(tid, Relaxed);
    kept.length.store(text.len() as u32 + 1, Release);
    Some(number as u32)
}

/// The text of that number.
pub fn text(number: u32) -> Option<&'static [u8]> {
    let kept = TEXTS.get(number as usize)?;
    let length = kept.length.load(Acquire).checked_sub(1)? as usize;
    // SAFETY: so many bytes were written there before their length was, and stay.
    Some(unsafe {
        std::slice::from_raw_parts(BYTES.0.get().cast::<u8>().add(kept.start.load(Relaxed) as usize), length)
    })
}

/// Threads and the names they were given.
pub fn thread_names() -> impl Iterator<Item = (u32, &'static [u8])> {
    let numbers = 0..COUNT.load(Relaxed).min(MOST) as u32;
    numbers.filter_map(|number| {
        let name = text(number)?;
        let tid = TEXTS[number as usize].tid.load(Relaxed);
        (tid != 0).then_some((tid, name))
    })
}

/// In a fork's child: the threads were the parent's. Handles stay good.
pub fn forget() {
    TEXTS[..COUNT.load(Relaxed).min(MOST)].iter().for_each(|kept| kept.tid.store(0, Relaxed));
}
