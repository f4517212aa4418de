//! This process's spool file: made when recording starts, handed out in chunks.

use crate::sys::env;
use crate::sys::file::File;
use crate::sys::fixed_text::{Decimal, FixedText};
use crate::sys::{refusal, seccomp};
use crate::write::windows::{self, MappedPart};
use interpose::PROCESS_WORDS;
use spool::{ALIGN, CHUNK_MAGIC, ChunkHeader, FileHeader, Full, Level, MAGIC, Ring, Shared};
use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64};

/// State that every recorded call looks at, in the cache line of `interpose`'s. Zeros are valid, and all that a child finds
/// that ran no handler of `fork`: it has no file.
#[repr(C)]
pub struct State {
    /// The mapped file header; null before recording starts.
    header: AtomicPtr<FileHeader>,
    /// A [`Level`], 0 before recording starts.
    pub level: AtomicU32,
    /// Calls are written with what GPU operations are joined with them by.
    pub is_joined: AtomicBool,
    /// CUPTI tells the correlation ids of calls.
    pub tells_ids: AtomicBool,
    /// It reports them only so that the join by order can be compared with them.
    pub checks_join: AtomicBool,
    /// How many streams of the program capture.
    pub captures: AtomicU32,
    /// Calls at least this long, ticks, get a closer look; at first all do.
    pub seldom: AtomicI64,
    /// A call that begins so many ticks after the thread's last one gets its stack written.
    pub pause: AtomicI64,
}

const _: () = assert!(size_of::<State>() == size_of::<[AtomicU64; PROCESS_WORDS]>());
const _: () = assert!(align_of::<State>() == align_of::<AtomicU64>());

/// This process's.
pub struct OwnState;

/// This process's.
pub static STATE: OwnState = OwnState;

impl Deref for OwnState {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        // SAFETY: as many words, aligned alike, of which nobody else makes use; zeros are valid.
        unsafe { &*std::ptr::from_ref(interpose::process_words()).cast() }
    }
}

/// State that all processes of the program share, mapped from a file of the spool.
static PROGRAM: AtomicPtr<Shared> = AtomicPtr::new(null_mut());
/// Most bytes that they may take.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// No more chunks: the disk is full or the limit reached.
static FULL: AtomicBool = AtomicBool::new(false);

/// The last records are kept: chunks are used again once there is no room for another.
static KEEPS_LAST: AtomicBool = AtomicBool::new(false);
/// The chunks that are used again.
static RING: Ring<MOST_CHUNKS> = Ring::new();
/// Most chunks of a ring; further ones are not used again. Looking for the oldest of so many takes 30 µs.
const MOST_CHUNKS: usize = 1 << 16;
/// The limit has room for so many chunks of a ring at least: for more threads than are recorded at once.
const LEAST_CHUNKS: u64 = 4096;
/// Of the limit, the part that a ring leaves for the first chunks of threads that come later, and for what lasts.
const RESERVE: u64 = 4;
/// Chunks that were begun.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Purpose of a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ChunkUse {
    /// A thread's first records.
    First,
    /// More of them.
    More,
    /// Records that last.
    Persistent,
}

/// Where the process's file is; null before there is one. A fork's child makes a new one: the old one stays.
static LOCATION: AtomicPtr<FileLocation> = AtomicPtr::new(null_mut());

/// Longest path, with its zero byte.
const MOST_PATH: usize = 1024;

type Path = FixedText<MOST_PATH>;

/// Where a file is, and which file that is: another user may have put another one there.
struct FileLocation {
    path: Path,
    identity: (u64, u64),
}

/// The process's file, opened again.
fn reopen() -> Result<File, Full> {
    // SAFETY: null or a place that `keep` wrote in memory that stays mapped.
    let place = unsafe { LOCATION.load(Acquire).as_ref() }.ok_or(Full::Gone)?;
    let file = File::open(place.path.path().ok_or(Full::Gone)?)?;
    if file.identity() == Some(place.identity) { Ok(file) } else { Err(Full::Gone) }
}

/// Keeps a place for as long as the process lives, in memory of its own.
fn keep(place: FileLocation) -> Option<()> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: asks for new memory.
    let memory = unsafe { libc::mmap(null_mut(), size_of::<FileLocation>(), access, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: new memory of that size, aligned to a page, that nobody else knows yet.
    unsafe { memory.cast::<FileLocation>().write(place) };
    LOCATION.store(memory.cast(), Release);
    Some(())
}

/// Makes the file; false when there is no directory for it or it cannot be made.
pub fn open() -> bool {
    make_file().is_some_and(|file| begin(&file).is_ok())
}

fn make_file() -> Option<File> {
    let directory = env::text(spool::VAR_DIRECTORY)?;
    LIMIT.store(env::number(spool::VAR_MAX_SIZE).unwrap_or(u64::MAX), Relaxed);
    KEEPS_LAST.store(env::text(spool::VAR_KEEP) == Some(b"last"), Relaxed);
    map_shared(directory);
    let pid = Decimal::of(std::process::id().into());
    for image in 0..10_000 {
        let (image, suffix) = (Decimal::of(image), spool::SUFFIX.as_bytes());
        let path = Path::of(&[directory, b"/", pid.bytes(), b"-", image.bytes(), suffix, b"\0"])?;
        match File::open_with(path.path()?, libc::O_CREAT | libc::O_EXCL) {
            Ok(file) => return keep(FileLocation { path, identity: file.identity()? }).map(|()| file),
            Err(libc::EEXIST) => {}
            Err(error) => {
                refusal::tell(directory, error);
                return None;
            }
        }
    }
    None
}

/// Makes the header.
fn begin(file: &File) -> Result<(), Full> {
    file.reserve(0, ALIGN)?;
    let header = windows::begin(file, is_roomy())?.cast::<FileHeader>();
    // SAFETY: the mapping is large enough, zeroed and never unmapped.
    fill(unsafe { &*header });
    STATE.header.store(header, Release);
    Ok(())
}

fn fill(header: &FileHeader) {
    header.pid.store(std::process::id(), Relaxed);
    header.parent.store(std::os::unix::process::parent_id(), Relaxed);
    header.monotonic_ns.store(interpose::monotonic(), Relaxed);
    header.unix_ns.store(clock(libc::CLOCK_REALTIME), Relaxed);
    header.next.store(windows::SIZE, Relaxed);
    header.magic.store(MAGIC, Release);
}

fn clock(which: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct it is given.
    unsafe { libc::clock_gettime(which, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Maps what all processes of the program share, before there is a file of this one.
pub fn share() {
    if let Some(directory) = env::text(spool::VAR_DIRECTORY) {
        map_shared(directory);
    }
}

fn map_shared(directory: &[u8]) {
    if shared().is_some() {
        return;
    }
    let file = open_shared(directory);
    if let Some(file) = file
        && let Ok(shared) = file.reserve(0, Shared::BYTES).and_then(|()| file.map(0, Shared::BYTES))
    {
        PROGRAM.store(shared.cast(), Release);
    }
}

/// The file of [`Shared`] in a folder: the recorder's, or one that is made here. Two processes may make it at once.
fn open_shared(directory: &[u8]) -> Option<File> {
    let path = Path::of(&[directory, b"/", spool::SHARED.as_bytes(), b"\0"])?;
    let path = path.path()?;
    let ways = [0, libc::O_CREAT | libc::O_EXCL, 0];
    let file = ways.into_iter().find_map(|flags| File::open_with(path, flags).ok())?;
    file.is_safe(Path::of(&[directory, b"\0"])?.path()?).then_some(file)
}

/// State that all processes of the program share; `None` before there is a file.
#[inline]
pub fn shared() -> Option<&'static Shared> {
    // SAFETY: published mappings are never unmapped, and large enough.
    unsafe { PROGRAM.load(Acquire).as_ref() }
}

/// Whether the last records are kept, not the first.
#[inline]
pub fn keeps_last() -> bool {
    KEEPS_LAST.load(Relaxed)
}

/// The file's header, once there is one.
pub fn header() -> Option<&'static FileHeader> {
    // SAFETY: published mappings are never unmapped.
    unsafe { STATE.header.load(Acquire).as_ref() }
}

/// A chunk for a thread, empty; null when there is no room for one. Of a ring's, it may be of another size.
pub fn chunk(size: u64, tid: u32, of: ChunkUse) -> *mut ChunkHeader {
    let is_ring = keeps_last() && of != ChunkUse::Persistent;
    let chunk = match fresh(size, of) {
        Some(fresh) => {
            if is_ring {
                RING.add(fresh);
            }
            Some(fresh)
        }
        None => RING.take().filter(|_| is_ring),
    };
    let Some(chunk) = chunk else { return null_mut() };
    begin_chunk(chunk, tid);
    chunk.lasting.store((keeps_last() && of == ChunkUse::Persistent).into(), Relaxed);
    chunk.magic.store(CHUNK_MAGIC, Release);
    std::ptr::from_ref(chunk).cast_mut()
}

/// A thread has a chunk from now on.
fn begin_chunk(chunk: &ChunkHeader, tid: u32) {
    chunk.tid.store(tid, Relaxed);
    chunk.number.store(NUMBER.fetch_add(1, Relaxed), Relaxed);
}

/// A thread is done with a chunk, in which it wrote nothing after `now`, ticks.
pub fn seal(chunk: &ChunkHeader, now: i64) {
    RING.seal(chunk, now);
}

/// There is no other chunk for a thread: it begins its own again. Its records are overwritten.
pub fn begin_again(chunk: &ChunkHeader, tid: u32, now: i64) {
    chunk.overwrite(now);
    begin_chunk(chunk, tid);
}

/// Bytes of a ring's chunks, where the last records are kept: a thread that seldom writes must not take much of what the
/// ring may be.
pub fn ring_size() -> Option<u64> {
    let size = (LIMIT.load(Relaxed) / LEAST_CHUNKS / ALIGN * ALIGN).clamp(ALIGN, windows::SIZE);
    keeps_last().then_some(size)
}

/// A new chunk at the end of the file; `None` without room.
fn fresh(size: u64, of: ChunkUse) -> Option<&'static ChunkHeader> {
    let header = header()?;
    if FULL.load(Relaxed) {
        return None;
    }
    if !seccomp::allows_calls() {
        _ = header.full.compare_exchange(0, Full::Seccomp as u32, Relaxed, Relaxed);
        return None;
    }
    let limit = LIMIT.load(Relaxed);
    let most = if keeps_last() && of == ChunkUse::More { limit - limit / RESERVE } else { limit };
    match take(size, most).and_then(|()| make(header, size)) {
        Ok(fresh) => {
            // SAFETY: mapped as long as the process lives, zeroed, and nobody else's.
            let fresh = unsafe { &*fresh };
            fresh.size.store(size, Relaxed);
            Some(fresh)
        }
        Err(why) => {
            // The other uses have a limit of their own.
            let may_go_on = keeps_last() && why == Full::Limit;
            FULL.fetch_or(!may_go_on, Relaxed);
            if !(may_go_on && of == ChunkUse::More) {
                _ = header.full.compare_exchange(0, why as u32, Relaxed, Relaxed);
            }
            None
        }
    }
}

/// A part of the file for a chunk.
fn make(header: &FileHeader, size: u64) -> Result<*mut ChunkHeader, Full> {
    let file = reopen()?;
    // Programs that start threads all the time take a chunk for each: mostly one is at hand, with the disk's blocks.
    let at_hand = windows::cut_off_at_hand(size);
    let part = match at_hand.or_else(|| windows::cut(header, &file, size, is_roomy())) {
        Some(part) => part,
        None => {
            let offset = header.next.fetch_add(size, Relaxed);
            MappedPart { address: file.map(offset, size)?, offset, reserved: false }
        }
    };
    if !part.reserved {
        // Mapped already, but nobody looks there before.
        file.reserve(part.offset, size)?;
    }
    Ok(part.address.cast())
}

/// Whether what the processes may take is so much that the disk's blocks may be taken before they are needed.
fn is_roomy() -> bool {
    const ROOMY: u64 = 64 << 20;
    LIMIT.load(Relaxed) >= ROOMY
}

/// Counts `size` bytes against what all processes may take.
fn take(size: u64, most: u64) -> Result<(), Full> {
    let Some(Shared { taken, .. }) = shared() else { return Ok(()) };
    if taken.fetch_add(size, Relaxed).saturating_add(size) <= most {
        return Ok(());
    }
    taken.fetch_sub(size, Relaxed);
    Err(Full::Limit)
}

/// Writes what is recorded from now on.
pub fn set_level(level: Level) {
    if let Some(header) = header() {
        header.level.store(level as u32, Relaxed);
    }
}

/// Counts so many more of the driver's slots as watched.
pub fn driver_watched(slots: u64) {
    if let Some(header) = header() {
        header.driver_slots.fetch_add(slots, Relaxed);
    }
}

/// Counts a record that its thread could not write: a signal handler or a callback interrupted it while it wrote another.
#[cold]
pub fn count_unwritten() {
    if let Some(header) = header() {
        header.unwritten.fetch_add(1, Relaxed);
    }
}

/// Counts a child that has this process's memory, and goes on without a recording.
pub fn count_unrecorded_child() {
    if let Some(shared) = shared() {
        shared.unrecorded_children.fetch_add(1, Relaxed);
    }
}

/// The header of a recording that ended before the program; null for none.
static STOPPED: AtomicPtr<FileHeader> = AtomicPtr::new(null_mut());

/// The recording ends here, for this reason, while the program goes on.
pub fn stop(why: Full) {
    if let Some(header) = header() {
        _ = header.full.compare_exchange(0, why as u32, Relaxed, Relaxed);
        finish();
        STOPPED.store(STATE.header.swap(null_mut(), AcqRel), Release);
    }
}

/// Counts a call that comes after the recording was stopped, if it was.
pub fn count_after_stop() {
    // SAFETY: published mappings are never unmapped.
    if let Some(header) = unsafe { STOPPED.load(Acquire).as_ref() } {
        header.dropped.fetch_add(1, Relaxed);
    }
}

/// Counts a program that runs without this library, for that reason, or takes that back.
pub fn count_unrecorded_program(why: Unrecordable, change: i64) {
    // A process without CUDA has not mapped the count yet.
    if seccomp::allows_calls() {
        share();
    }
    if let Some(shared) = shared() {
        let count = match why {
            Unrecordable::Foreign => &shared.foreign_programs,
            Unrecordable::Filtered => &shared.filtered_programs,
        };
        count.fetch_add(change.cast_unsigned(), Relaxed);
    }
}

/// Why a program is executed without this library.
#[derive(Clone, Copy)]
pub enum Unrecordable {
    /// It has another C library, or is for another processor, and could not load this one.
    Foreign,
    /// The process that executes it forbade itself system calls: which, only the kernel knows.
    Filtered,
}

/// Marks the file as complete.
pub fn finish() {
    if let Some(header) = header() {
        header.finished.store(1, Release);
    }
}

/// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC` as they were when the file was made, ns.
pub fn unix_offset() -> i64 {
    header().map_or(0, |header| header.unix_ns.load(Relaxed).wrapping_sub(header.monotonic_ns.load(Relaxed)))
}

/// In a fork's child: the file is the parent's.
pub fn forget() {
    STATE.header.store(null_mut(), Release);
    STOPPED.store(null_mut(), Relaxed);
    windows::forget();
    RING.forget();
    NUMBER.store(0, Relaxed);
    FULL.store(false, Relaxed);
}
