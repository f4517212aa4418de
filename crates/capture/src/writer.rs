//! A thread's own end of the spool: appends records to its chunk, and takes another when it is
//! full. No lock, no allocation; a system call only for a new chunk.

use crate::process;
use crate::unseen::unseen;
use interpose::{Moment, Span, Thread, Ticks};
use spool::{ALIGN, BriefCall, CHUNK_HEADER, Call, ChunkHeader, Clock, Head, call};
use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, compiler_fence};

/// Most threads that write at once.
const MOST: usize = 4096;

/// Largest chunk, bytes. A thread's first is [`ALIGN`], each further one four times the last.
const LARGEST: u64 = 4 << 20;

/// How much of a chunk is touched ahead, bytes: room for some 8,000 launches.
const AHEAD: usize = 64 << 10;

/// Both say what a thread is doing; the one in a chunk's header is written by `interpose`.
const _: () = {
    use interpose::Progress as Ours;
    use spool::Progress as Kept;
    assert!(size_of::<Ours>() == size_of::<Kept>() && offset_of!(Ours, calls) == offset_of!(Kept, calls));
    assert!(offset_of!(Ours, function) == offset_of!(Kept, function));
    assert!(offset_of!(Ours, launches) == offset_of!(Kept, launches));
    assert!(offset_of!(Ours, since) == offset_of!(Kept, since));
};

/// Deepest nesting of a thread's marked ranges.
pub const MOST_RANGES: usize = 64;

/// Where a thread writes. What each record needs comes first: with [`Slot::busy`] in one cache line.
#[repr(C)]
pub struct Writer {
    chunk: *mut ChunkHeader,
    /// Bytes of records in the chunk.
    used: usize,
    /// Bytes of records that fit.
    room: usize,
    /// The stream of the chunk's last [`Call`] with one.
    stream: Option<u64>,
    /// When the chunk's last call returned; 0 when it has none, as for who reads it.
    until: Ticks,
    thread: Option<&'static Thread>,
    /// Size of the last chunk, 0 before the first.
    last: u64,
    /// Bytes of the chunk whose pages are there.
    touched: usize,
    tid: u32,
    /// The ranges the thread is in: text and start.
    pub ranges: [(u32, Ticks); MOST_RANGES],
    /// How many; may exceed what is kept.
    pub depth: usize,
}

#[repr(C, align(64))]
struct Slot {
    /// In use: a signal handler that gets here must not write into the middle of a record.
    busy: AtomicBool,
    /// The thread that it is in use by, or was last.
    owner: AtomicU32,
    writer: UnsafeCell<Writer>,
}
// SAFETY: a slot belongs to one thread, whose `Thread::user` points to it.
unsafe impl Sync for Slot {}

impl Slot {
    /// A thread that has no chunk yet comes: one that ended in the middle of a record, by leaving a signal
    /// handler through another door, is not in it any more. Again by a signal handler is no harm.
    #[cold]
    #[inline(never)]
    fn hand_over(&self, thread: &Thread) {
        if self.owner.load(Relaxed) != thread.tid() {
            self.busy.store(false, Relaxed);
            self.owner.store(thread.tid(), Relaxed);
        }
    }
}

const fn empty() -> Writer {
    Writer {
        chunk: null_mut(),
        used: 0,
        room: 0,
        stream: None,
        until: 0,
        thread: None,
        last: 0,
        touched: 0,
        tid: 0,
        ranges: [(0, 0); MOST_RANGES],
        depth: 0,
    }
}

static WRITERS: [Slot; MOST] = [const {
    Slot { busy: AtomicBool::new(false), owner: AtomicU32::new(0), writer: UnsafeCell::new(empty()) }
}; MOST];
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Runs `write` with the thread's writer, unless recording has not begun, there is no writer left,
/// or it is in use further up this thread's stack.
#[inline]
pub fn with<R>(thread: &'static Thread, write: impl FnOnce(&mut Writer) -> R) -> Option<R> {
    // SAFETY: what `set_user` left: null, as before recording starts, or a slot of WRITERS.
    let slot = match unsafe { thread.user().cast::<Slot>().as_ref() } {
        Some(slot) => slot,
        None => claim(thread)?,
    };
    let fresh = thread.is_unplaced();
    if fresh {
        slot.hand_over(thread);
    }
    if slot.busy.load(Relaxed) {
        return None;
    }
    slot.busy.store(true, Relaxed);
    // A signal handler on this thread must see it before anything of the writer changes.
    compiler_fence(SeqCst);
    // SAFETY: only this thread uses the slot, and `busy` keeps it from using it twice.
    let writer = unsafe { &mut *slot.writer.get() };
    if fresh {
        writer.change_hands(thread);
    }
    let result = write(writer);
    compiler_fence(SeqCst);
    slot.busy.store(false, Relaxed);
    Some(result)
}

/// As [`with`], for the thread that calls.
pub fn here<R>(write: impl FnOnce(&mut Writer) -> R) -> Option<R> {
    with(Thread::current()?, write)
}

/// A slot for a thread, and for those that have its place later.
#[cold]
fn claim(thread: &Thread) -> Option<&'static Slot> {
    let header = process::header()?;
    let slot = WRITERS.get(TAKEN.fetch_add(1, Relaxed));
    match slot {
        Some(slot) => thread.set_user((slot as *const Slot).cast_mut().cast()),
        None => {
            header.untracked_threads.fetch_add(1, Relaxed);
        }
    }
    slot
}

/// In a fork's child: no thread has a chunk.
pub fn forget() {
    for slot in &WRITERS[..TAKEN.swap(0, Relaxed).min(MOST)] {
        // SAFETY: the child has one thread, and it is here.
        unsafe { *slot.writer.get() = empty() };
        slot.busy.store(false, Relaxed);
    }
}

impl Writer {
    /// The slot may be that of a thread that ended: its chunk says whose records it holds.
    #[cold]
    #[inline(never)]
    fn change_hands(&mut self, thread: &'static Thread) {
        if self.tid != thread.tid() {
            *self = Writer { thread: Some(thread), tid: thread.tid(), ..empty() };
        }
    }

    /// Appends a record of several parts, filled up to whole words; false without room: it is counted.
    pub fn append(&mut self, kind: u16, tag: u32, parts: &[&[u8]]) -> bool {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let words = 1 + length.div_ceil(8);
        let Ok(count) = u16::try_from(words) else { return false };
        let size = words * 8;
        if self.used + size > self.room && !self.make_room(size) {
            self.drop_one();
            return false;
        }
        // SAFETY: `size` bytes from `used` on lie in the chunk, which only this thread writes.
        unsafe {
            let mut at = self.chunk.cast::<u8>().add(CHUNK_HEADER + self.used);
            at.cast::<Head>().write(Head { kind, words: count, tag });
            at = at.add(size_of::<Head>());
            for part in parts {
                at.copy_from_nonoverlapping(part.as_ptr(), part.len());
                at = at.add(part.len());
            }
        }
        self.used += size;
        // SAFETY: the chunk is mapped as long as the process lives.
        unsafe { (*self.chunk).used.store(self.used as u64, Release) };
        true
    }

    /// Sees to it that the thread notes its calls in a chunk.
    pub fn prepare(&mut self) {
        if self.chunk.is_null() {
            self.make_room(0);
        }
    }

    /// Appends a driver call, as briefly as it can be said.
    pub fn call(&mut self, function: u32, record: &Call) {
        let says_no_more = record.result == 0 && record.flags & !call::HAS_STREAM == 0 && record.bytes == 0;
        let known_stream = record.flags == 0 || self.stream == Some(record.stream);
        let span = Span { start: record.start, end: record.end };
        if says_no_more && known_stream && self.brief(function, span, record.flags) {
            return;
        }
        if self.append(Call::KIND, function, &[record.bytes()]) {
            self.until = record.end;
            if record.flags & call::HAS_STREAM != 0 {
                self.stream = Some(record.stream);
            }
        }
    }

    /// Appends a successful launch if the chunk says all else; false when there is more to be said.
    #[inline]
    pub fn launch(&mut self, function: u32, span: Span, stream: u64) -> bool {
        function != 0 && self.stream == Some(stream) && self.brief(function, span, call::HAS_STREAM)
    }

    /// Appends a brief call; false when it is none or has no room: another chunk does not know its stream.
    #[inline]
    fn brief(&mut self, function: u32, Span { start, end }: Span, flags: u32) -> bool {
        let gap = start.wrapping_sub(self.until);
        let word = BriefCall::word(function, gap, end.wrapping_sub(start), flags != 0);
        let (Some(word), true) = (word, self.used + size_of::<Head>() <= self.room) else { return false };
        // SAFETY: a word from `used` on lies in the chunk, which only this thread writes; records are whole
        // words, so it is aligned.
        unsafe { self.chunk.cast::<u8>().add(CHUNK_HEADER + self.used).cast::<Head>().write(word) };
        (self.used, self.until) = (self.used + size_of::<Head>(), end);
        // SAFETY: the chunk is mapped as long as the process lives.
        unsafe { (*self.chunk).used.store(self.used as u64, Release) };
        true
    }

    /// Has the kernel map what comes next in the chunk, for a thread that has waited long anyway: it
    /// takes a microsecond a page, which a short call would see (943 ns, host of an H200).
    pub fn touch_ahead(&mut self) {
        const PAGE: usize = 4096;
        let next = (CHUNK_HEADER + self.used).next_multiple_of(PAGE);
        let until = (next + AHEAD).min(CHUNK_HEADER + self.room);
        for page in (self.touched.max(next)..until).step_by(PAGE) {
            // SAFETY: within the chunk, behind what was appended; only this thread writes here.
            unsafe { self.chunk.cast::<u8>().add(page).write_volatile(0) };
            self.touched = page + PAGE;
        }
    }

    /// Whether a record fits into the chunk.
    fn fits<R>(&self) -> bool {
        self.used + size_of::<Head>() + size_of::<R>() <= self.room
    }

    /// Says what the clocks showed at a moment. Where there is no room, others have said it.
    pub fn clock(&mut self, moment: Moment) {
        if self.fits::<Clock>() || self.make_room(0) {
            self.append(Clock::KIND, 0, &[Clock { ticks: moment.ticks, ns: moment.ns }.bytes()]);
        }
    }

    /// Takes a chunk that holds at least `size` bytes of records besides what the clocks show.
    fn make_room(&mut self, size: usize) -> bool {
        let least = (size + size_of::<Head>() + size_of::<Clock>() + CHUNK_HEADER) as u64;
        let wanted = (self.last * 4).clamp(ALIGN, LARGEST).max(least.next_multiple_of(ALIGN));
        let chunk = unseen(|| process::chunk(wanted, self.tid));
        if chunk.is_null() {
            return false;
        }
        (self.chunk, self.used, self.room) = (chunk, 0, wanted as usize - CHUNK_HEADER);
        if let Some(thread) = self.thread {
            // SAFETY: mapped as long as the process lives, and laid out alike (asserted above).
            thread.note_in(unsafe { &*(&raw const (*chunk).progress).cast::<interpose::Progress>() });
        }
        (self.last, self.touched) = (wanted, 0);
        (self.stream, self.until) = (None, 0);
        self.clock(interpose::moment());
        true
    }

    fn drop_one(&mut self) {
        // SAFETY: a chunk is mapped as long as the process lives.
        match (unsafe { self.chunk.as_ref() }, process::header()) {
            (Some(chunk), _) => chunk.dropped.store(chunk.dropped.load(Relaxed) + 1, Relaxed),
            // This one threads share.
            (None, Some(header)) => {
                header.dropped.fetch_add(1, Relaxed);
            }
            (None, None) => {}
        }
    }
}
