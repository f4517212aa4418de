//! A thread's own end of the spool: appends records to its chunk, and takes another when it is
//! full. No lock, no allocation; a system call only for a new chunk.

use crate::sys::shielded::shielded;
use crate::write::chunk_end::ChunkEnd;
use crate::write::pace::Pace;
use crate::write::persistent;
use crate::write::process::{self, ChunkUse};
use interpose::{MOST_THREADS, Moment, Span, Thread, Ticks};
use pystack::Trail;
use spool::{
    ALIGN, BriefCall, CHUNK_HEADER, Call, ChunkHeader, Clock, FactCall, Head, NumberedCall, OuterCall, call,
};
use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;

/// Largest chunk, bytes. A thread's first is [`ALIGN`], each further one four times the last.
const LARGEST: u64 = 4 << 20;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of a page.
const PAGE: usize = 4096;
/// How much of a chunk is touched ahead at most, bytes: room for some 8,000 launches.
const AHEAD: usize = 64 << 10;

/// Both say what a thread is doing; the one in a chunk's header is written by `interpose`.
const _: () = {
    use interpose::Progress as Ours;
    use spool::Progress as InFile;
    assert!(size_of::<Ours>() == size_of::<InFile>() && offset_of!(Ours, calls) == offset_of!(InFile, calls));
    assert!(offset_of!(Ours, function) == offset_of!(InFile, function));
    assert!(offset_of!(Ours, launches) == offset_of!(InFile, launches));
    assert!(offset_of!(Ours, since) == offset_of!(InFile, since));
};

/// Deepest nesting of a thread's marked ranges.
pub const MOST_RANGES: usize = 64;

/// Where a thread writes. What a launch needs lies with the mark that it is in use (`thread_writer`) in the thread's own
/// [`Room`](interpose::Room), that is, in one cache line.
#[repr(C)]
pub struct Writer {
    end: ChunkEnd,
    /// The stream of the chunk's last [`Call`] with one, [`NO_STREAM`] before.
    stream: u64,
    /// When the chunk's last call returned; 0 when it has none, as for who reads it.
    until: Ticks,
    /// All else; its place's in [`RESTS`] since the thread came.
    rest: *mut Rest,
}

/// Additional fact of a brief call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    None,
    /// [`Call::fact`]
    Shape(u32),
    /// [`Call::correlation`], with which a fact is not needed.
    Id(u32),
}

impl Fact {
    #[inline]
    fn of(record: &Call) -> Fact {
        match (record.correlation, record.fact) {
            (0, 0) => Fact::None,
            (0, fact) => Fact::Shape(fact),
            (id, _) => Fact::Id(id),
        }
    }
}

/// Handles of default streams: 0, 1 and 2 (cuda.h).
const DEFAULTS: usize = 3;

/// No stream's handle.
const NO_STREAM: u64 = u64::MAX;

/// Calls of a thread of which one has its stack written: a prime, so that a loop does not show the same call each time.
const SAMPLED: u32 = 61;

/// State that a writer needs less often.
pub struct Rest {
    thread: Option<&'static Thread>,
    /// Where records go that last, once there were some; of a ring only.
    persistent: ChunkEnd,
    /// Size of the last chunk, 0 before the first.
    last: u64,
    /// Bytes of the chunk whose pages are there.
    touched: usize,
    /// Bytes of records in the chunk when the thread last waited.
    waited: usize,
    /// Kernel's id of the thread.
    pub tid: u32,
    /// The contexts in which the thread last used the default streams, by handle.
    defaults: [usize; DEFAULTS],
    /// Since when it knows streams: how often recording had been switched on again.
    epoch: u32,
    /// CUPTI's correlation id of the call that the thread is in, where it tells them.
    pub correlation: u32,
    /// Calls since the last one that stands for many others.
    unsampled: u32,
    /// How fast the thread fills CUPTI's buffers.
    pub pace: Pace,
    /// When the last call returned whose stack was written.
    pub stacked: Ticks,
    /// How long the last one took.
    pub stack_took: Ticks,
    /// Where the thread's Python frames were then.
    pub trail: Trail,
    /// The ranges the thread is in: text and start.
    pub ranges: [(u32, Ticks); MOST_RANGES],
    /// How many; may exceed what is kept.
    pub depth: usize,
}

/// By [`Thread::place`].
struct Rests([UnsafeCell<Rest>; MOST_THREADS]);
// SAFETY: a place is used by the thread that has it.
unsafe impl Sync for Rests {}

static RESTS: Rests = Rests([const { UnsafeCell::new(Rest::new()) }; MOST_THREADS]);

impl Rest {
    /// Whether a call that is over is the one of [`SAMPLED`] that stands for the others of its thread; it counts the call.
    #[inline]
    pub fn is_sample_due(&mut self) -> bool {
        self.unsampled = self.unsampled.wrapping_add(1);
        self.unsampled >= SAMPLED
    }

    /// Like [`Rest::is_sample_due`], for the one that has its stack written then.
    #[inline]
    pub fn is_sampled(&mut self) -> bool {
        let is_due = self.is_sample_due();
        if is_due {
            self.unsampled = 0;
        }
        is_due
    }

    const fn new() -> Rest {
        Rest {
            thread: None,
            persistent: ChunkEnd::NONE,
            last: 0,
            touched: 0,
            waited: 0,
            tid: 0,
            defaults: [0; DEFAULTS],
            epoch: 0,
            correlation: 0,
            pace: Pace::NEW,
            stacked: 0,
            stack_took: 0,
            unsampled: 0,
            trail: Trail::new(),
            ranges: [(0, 0); MOST_RANGES],
            depth: 0,
        }
    }
}

impl Writer {
    /// The slot may be that of a thread that ended: its chunk says whose records it holds.
    #[cold]
    #[inline(never)]
    pub fn change_hands(&mut self, thread: &'static Thread) {
        let (rest, tid) = (RESTS.0[thread.place()].get(), thread.tid());
        // SAFETY: the place is the thread's.
        if self.rest.is_null() || unsafe { (*rest).tid } != tid {
            // SAFETY: as above. Zeros are a rest that is new, whose many bytes are not made on the thread's stack, which may be
            // small.
            let rest = unsafe {
                rest.write_bytes(0, 1);
                &mut *rest
            };
            (rest.thread, rest.tid) = (Some(thread), tid);
            *self = Writer { end: ChunkEnd::NONE, stream: NO_STREAM, until: 0, rest };
        }
    }

    /// Whether no thread had it yet.
    pub fn is_unused(&self) -> bool {
        self.rest.is_null()
    }

    /// State that it needs less often.
    #[inline]
    pub fn rest(&mut self) -> &mut Rest {
        // SAFETY: `change_hands` comes before anything else; the place is the thread's, and the code that
        // has the writer has the rest.
        unsafe { &mut *self.rest }
    }

    /// Appends a record of several parts, filled up to whole words; false without room: it is counted.
    pub fn append(&mut self, kind: u16, tag: u32, parts: &[&[u8]]) -> bool {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let Ok(words) = u16::try_from(1 + length.div_ceil(8)) else { return false };
        let (head, size) = (Head { kind, words, tag }, usize::from(words) * 8);
        if process::keeps_last() && spool::lasts(kind) {
            let rest = self.rest();
            return persistent::append(&mut rest.persistent, rest.tid, head, parts);
        }
        if !self.end.fits(size) && !self.make_room(size) {
            self.drop_one();
            return false;
        }
        self.end.put(head, parts);
        true
    }

    /// Sees to it that the thread notes its calls in a chunk.
    pub fn prepare(&mut self) {
        if self.end.chunk.is_null() {
            self.make_room(0);
        }
    }

    /// Appends a call, in its briefest form.
    pub fn call(&mut self, function: u32, record: &Call) {
        let says_no_more = record.result == 0 && record.flags & !call::HAS_STREAM == 0 && record.bytes == 0;
        let known_stream = record.flags == 0 || self.is_last_stream(record.stream);
        let span = Span { start: record.start, end: record.end };
        if says_no_more && known_stream && self.brief(function, span, record.flags, Fact::of(record)) {
            return;
        }
        if says_no_more && record.flags == 0 && Fact::of(record) == Fact::None && self.outer(function, span) {
            return;
        }
        if self.append(Call::KIND, function, &[record.bytes()]) {
            self.until = record.end;
            if record.flags & call::HAS_STREAM != 0 {
                self.stream = record.stream;
            }
        }
    }

    /// Appends a successful launch if the chunk has all else; false when the record needs more than that.
    #[inline(always)]
    pub fn launch(&mut self, function: u32, span: Span, stream: u64, fact: Fact) -> bool {
        function != 0 && self.stream == stream && self.brief(function, span, call::HAS_STREAM, fact)
    }

    /// Appends a successful call that says no more, if the chunk has all else.
    #[inline]
    pub fn plain(&mut self, function: u32, span: Span) -> bool {
        self.brief(function, span, 0, Fact::None) || self.outer(function, span)
    }

    /// CUPTI's correlation id of the call that the thread is in, where it reports them.
    #[inline(always)]
    pub fn reported_id(&mut self) -> Option<Fact> {
        let id = self.rest().correlation;
        (id != 0).then_some(Fact::Id(id))
    }

    /// Time from the chunk's last call to a call that begins then, ticks; 0 when it has none.
    #[inline]
    pub fn pause(&self, start: Ticks) -> Ticks {
        if self.until == 0 { 0 } else { start - self.until }
    }

    /// Whether the chunk's last call with a stream had that one.
    #[inline]
    pub fn is_last_stream(&self, stream: u64) -> bool {
        self.stream == stream
    }

    /// The thread may have another context now: its default streams are others.
    pub fn forget_default_stream(&mut self) {
        if self.stream < DEFAULTS as u64 {
            self.stream = NO_STREAM;
        }
    }

    /// Forgets the streams that the thread met before an epoch of recording.
    #[inline]
    pub fn meet_streams_of(&mut self, epoch: u32) {
        let rest = self.rest();
        if rest.epoch != epoch {
            (rest.epoch, rest.defaults) = (epoch, [0; DEFAULTS]);
            self.stream = NO_STREAM;
        }
    }

    /// Whether the thread last used a default stream in another context.
    pub fn is_new_default(&mut self, stream: u64, context: usize) -> bool {
        let known = self.rest().defaults.get_mut(stream as usize);
        known.is_some_and(|known| std::mem::replace(known, context) != context)
    }

    /// Appends a brief call; false when it is none or has no room: another chunk does not know its stream.
    #[inline(always)]
    fn brief(&mut self, function: u32, Span { start, end }: Span, flags: u32, fact: Fact) -> bool {
        let gap = start.wrapping_sub(self.until);
        let word = BriefCall::word(function, gap, end.wrapping_sub(start), flags != 0);
        match word {
            None => false,
            Some(word) => match fact {
                Fact::None => self.words([word], end),
                Fact::Shape(fact) => self.words([FactCall::head(fact), word], end),
                Fact::Id(id) => self.words([NumberedCall::head(id), word], end),
            },
        }
    }

    /// Appends a brief call around those before it; false when it is none or has no room.
    #[inline]
    fn outer(&mut self, function: u32, Span { start, end }: Span) -> bool {
        let until = self.until;
        let word = OuterCall::word(function, until.wrapping_sub(start), end.wrapping_sub(until));
        until != 0 && word.is_some_and(|word| self.words([word], end))
    }

    /// Appends a record that is so many words, of a call that returned at `end`; false without room.
    #[inline(always)]
    fn words<const N: usize>(&mut self, words: [Head; N], end: Ticks) -> bool {
        let size = N * size_of::<Head>();
        if !self.end.fits(size) {
            return false;
        }
        let at = self.end.place();
        // SAFETY: so many words from there on lie in the chunk, which only this thread writes; records are whole words,
        // so it is aligned.
        unsafe { at.cast::<[Head; N]>().write(words) };
        fetch(at.wrapping_add(2 * LINE));
        self.until = end;
        self.end.publish(1, size);
        true
    }

    /// Makes the kernel map what comes next in the chunk, while the thread waits anyway: as much as it filled
    /// since it last waited. It takes a microsecond a page (943 ns, host of an H200), and leaves the caches to
    /// the kernel: launches would see both.
    pub fn touch_ahead(&mut self) {
        let used = self.end.bytes();
        let filled = used - std::mem::replace(&mut self.rest().waited, used);
        let end = CHUNK_HEADER + used;
        let until = (end + filled.clamp(PAGE, AHEAD)).min(CHUNK_HEADER + self.end.room);
        for page in (self.rest().touched.max(end.next_multiple_of(PAGE))..until).step_by(PAGE) {
            // SAFETY: within the chunk, behind what was appended; only this thread writes here.
            unsafe { self.end.chunk.cast::<u8>().add(page).write_volatile(0) };
            self.rest().touched = page + PAGE;
        }
    }

    /// Appends what the clocks showed at a moment. Where there is no room, other chunks have it.
    pub fn clock(&mut self, moment: Moment) {
        if self.end.fits(size_of::<Head>() + size_of::<Clock>()) || self.make_room(0) {
            self.append(Clock::KIND, 0, &[Clock { ticks: moment.ticks, ns: moment.ns }.bytes()]);
        }
    }

    /// Takes a chunk that holds at least `size` bytes of records besides what the clocks show.
    fn make_room(&mut self, size: usize) -> bool {
        let least = (size + size_of::<Head>() + size_of::<Clock>() + CHUNK_HEADER) as u64;
        let rest = self.rest();
        let usual = process::ring_size().unwrap_or((rest.last * 4).clamp(ALIGN, LARGEST));
        let wanted = usual.max(least.next_multiple_of(ALIGN));
        let of = if rest.last == 0 { ChunkUse::First } else { ChunkUse::More };
        let chunk = shielded(|| process::chunk(wanted, rest.tid, of));
        let (before, now) = (self.end.chunk(), interpose::moment());
        // SAFETY: null or a chunk, which is mapped as long as the process lives.
        match (unsafe { chunk.as_ref() }, before) {
            (Some(chunk), _) => self.go_on_in(chunk, now.ticks),
            (None, Some(own)) if process::keeps_last() => {
                process::begin_again(own, self.rest().tid, now.ticks);
                self.end = ChunkEnd::of(own);
            }
            _ => return false,
        }
        (self.rest().waited, self.stream, self.until) = (0, NO_STREAM, 0);
        self.clock(now);
        self.end.fits(size)
    }

    /// Appends to another chunk from now on.
    fn go_on_in(&mut self, chunk: &'static ChunkHeader, now: Ticks) {
        let (before, rest) = (self.end.chunk(), self.rest());
        let is_fresh = chunk.overwritten.load(Relaxed) == 0;
        rest.last = chunk.size.load(Relaxed);
        // The pages of one that is used again are there.
        rest.touched = if is_fresh { 0 } else { rest.last as usize };
        if let Some(thread) = rest.thread {
            let progress = (&raw const chunk.progress).cast::<interpose::Progress>();
            // SAFETY: mapped as long as the process lives, and laid out alike (asserted above).
            thread.note_in(unsafe { &*progress });
        }
        self.end = ChunkEnd::of(chunk);
        // Nothing refers to it any more.
        if let Some(before) = before {
            process::seal(before, now);
        }
    }

    /// The thread ended: others may go on with its chunks.
    pub fn give_up(&mut self) {
        if let Some(chunk) = self.end.chunk() {
            process::seal(chunk, interpose::now());
        }
        persistent::give_up(std::mem::replace(&mut self.rest().persistent, ChunkEnd::NONE));
        self.end = ChunkEnd::NONE;
    }

    /// Counts a record that is lost.
    pub fn drop_one(&mut self) {
        // SAFETY: a chunk is mapped as long as the process lives.
        match (unsafe { self.end.chunk.as_ref() }, process::header()) {
            (Some(chunk), _) => chunk.dropped.store(chunk.dropped.load(Relaxed) + 1, Relaxed),
            // This one threads share.
            (None, Some(header)) => {
                header.dropped.fetch_add(1, Relaxed);
            }
            (None, None) => {}
        }
    }
}

/// Prefetches a cache line that is written soon: a thread that writes to one that is far away waits for it at the next
/// lock.
#[inline(always)]
fn fetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: reads nothing, and takes any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
